"""Which sequences run, where their KV lies, and what the next step computes.

Plain Python over the radix tree and the slot allocator; it decides and never computes. Each method leaves
``free + cached + private = total`` true (:meth:`Scheduler.check`).
"""

from array import array
from bisect import insort
from collections.abc import Callable
from collections.abc import Sequence as Run
from dataclasses import dataclass

from inference_server.radix_tree import Match, RadixTree
from inference_server.sequence import Sequence, Status
from inference_server.slot_allocator import SlotAllocator

GROWTH = 64
"""Slots taken at once when a sequence outgrows its reserve."""
COPY_SHARE = 4
"""For one contiguous run others' cache is evicted only where the run is at most 1/COPY_SHARE of the pool."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A sequence that has started to run.

    Its prefix in ``source`` has to be copied to ``target`` first, if any. ``first`` is false after a preemption.
    """

    sequence: Sequence
    source: Run[int]
    target: int
    first: bool


@dataclass(frozen=True, slots=True)
class Work:
    """``count`` rows of a sequence to compute in this step; ``samples`` when a token is sampled behind them."""

    sequence: Sequence
    count: int
    samples: bool


class Scheduler:
    """First come, first served; decodes first, then one chunk of the one prompt that is being prefilled.

    Every running request is older than every waiting one, and the youngest gives way first; so the oldest always goes
    on, and nobody starves.
    """

    def __init__(
        self,
        num_slots: int,
        *,
        max_running: int,
        chunk_tokens: int,
        mixed_chunk_tokens: Callable[[int], int],
        reserved_output: int = 256,
    ) -> None:
        """A prefill chunk has at most ``chunk_tokens`` rows.

        While others decode it has at most ``mixed_chunk_tokens(context)``, so that they keep their pace. For
        ``reserved_output`` tokens slots are set aside at admission; more are taken while decoding.
        """
        self.tree = RadixTree(max_ghosts=num_slots)
        self.allocator = SlotAllocator(num_slots)
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self.num_evicted = 0
        self.num_recomputed = 0
        self._max_running = max_running
        self._chunk_tokens = chunk_tokens
        self._mixed_chunk_tokens = mixed_chunk_tokens
        self._reserved_output = reserved_output
        self._arrivals = 0

    @property
    def num_live(self) -> int:
        """Slots that running requests hold: private ones and the pinned part of the cache."""
        return self.num_private + self.tree.num_pinned

    @property
    def num_private(self) -> int:
        """Slots that belong to running sequences and not to the cache."""
        return sum(len(sequence.private) for sequence in self.running)

    @property
    def slots_by_state(self) -> dict[str, int]:
        """Every slot is free, cached (evictable) or live."""
        free, live = self.allocator.num_free, self.num_live
        return {"free": free, "cached": self.allocator.num_slots - free - live, "live": live}

    def add(self, sequence: Sequence) -> None:
        """Queue a new sequence."""
        assert sequence.max_length <= self.allocator.num_slots, "a request that never fits was not refused"
        self._arrivals += 1
        sequence.arrival = self._arrivals
        self.waiting.append(sequence)

    def admit(self) -> list[Admission]:
        """Start waiting sequences, oldest first, while their KV finds room. The first that does not fit ends it.

        While one is prefilling nobody else starts: there are no rows for the next one yet, and later it may read what
        this one computes.
        """
        admissions = []
        while self.waiting and len(self.running) < self._max_running and all(s.is_decoding for s in self.running):
            admission = self._admit(self.waiting[0])
            if admission is None:
                break
            admissions.append(admission)
            self.running.append(self.waiting.pop(0))
        return admissions

    def schedule(self) -> list[Work]:
        """Rows of the next step. Sequences that the pool cannot hold any more go back to the queue, youngest first."""
        for sequence in sorted(self.running, key=lambda s: s.arrival):
            while sequence.status is Status.RUNNING and len(sequence.slots) < len(sequence):
                if not self._grow(sequence):
                    self.preempt(max(self.running, key=lambda s: s.arrival))
        works = [Work(s, 1, samples=True) for s in self.running if s.is_decoding]
        prefilling = min((s for s in self.running if not s.is_decoding), key=lambda s: s.arrival, default=None)
        if prefilling is not None:
            limit = self._mixed_chunk_tokens(prefilling.computed) if works else self._chunk_tokens
            count = min(max(1, limit), self._chunk_tokens, prefilling.num_uncomputed)
            samples = count == prefilling.num_uncomputed and prefilling.max_tokens > 0
            works.append(Work(prefilling, count, samples))
        return works

    def commit(self, work: Work) -> None:
        """Record that the rows' KV exists and let others match it at once."""
        sequence = work.sequence
        sequence.computed += work.count
        sequence.peak = max(sequence.peak, sequence.computed)
        assert sequence.node is not None
        span = slice(sequence.published, sequence.computed)
        slots = sequence.slots[span]
        tokens = sequence.tokens(span.start, span.stop)
        sequence.node, duplicates = self.tree.extend(sequence.node, tokens, slots)
        # Where another request has published the same tokens first, ours stay private and its path is not pinned;
        # they are offered again with the next ones, in case that path is gone by then.
        if duplicates < len(tokens):
            sequence.private.difference_update(slots[duplicates:])
            sequence.published = sequence.computed

    def finish(self, sequence: Sequence) -> None:
        """Give back what a sequence holds, in whatever state it is. Its computed KV stays in the cache."""
        if sequence.status is Status.RUNNING:
            self._release(sequence)
        elif sequence.status is Status.WAITING:
            self.waiting.remove(sequence)
        sequence.status = Status.FINISHED

    def preempt(self, sequence: Sequence) -> None:
        """Send a running sequence back to its place in the queue; its computed KV stays in the cache."""
        self._release(sequence)
        sequence.status = Status.WAITING
        insort(self.waiting, sequence, key=lambda s: s.arrival)

    def forget(self, scope: bytes, tokens: "array[int]") -> int:
        """Free the slots that the cache holds for this path alone; returns their number."""
        freed = self.tree.drop(scope, tokens)
        self.allocator.free(freed)
        return len(freed)

    def check(self) -> None:
        """Assert that every slot has exactly one owner."""
        self.tree.check()
        cached = self.tree.resident_slots()
        private = [slot for sequence in self.running for slot in sequence.private]
        free = self.allocator.free_slots()
        assert len(free) == self.allocator.num_free
        assert len(cached) + len(private) + len(free) == self.allocator.num_slots, "a slot was lost"
        assert cached.union(private, free) == set(range(self.allocator.num_slots)), "a slot has two owners"
        assert self.running or not self.tree.num_pinned, "a finished request left a pin"
        ages = [sequence.arrival for sequence in (*sorted(self.running, key=lambda s: s.arrival), *self.waiting)]
        assert ages == sorted(ages), "a younger request overtook an older one"

    def _admit(self, sequence: Sequence) -> Admission | None:
        tokens = sequence.tokens(0, len(sequence))
        match = self.tree.match(sequence.scope, tokens[:-1])
        self.tree.pin(match.node)
        reserved = min(sequence.max_length, len(sequence) + self._reserved_output)
        placement = self._place(match, max(reserved, len(sequence)) - match.length)
        if placement is None:
            self.tree.unpin(match.node)
            return None
        slots, private, copied = placement
        sequence.slots, sequence.private = slots, private
        sequence.run_start = slots[0] if _is_run(slots) else None
        sequence.node, sequence.published, sequence.computed = match.node, match.length, match.length
        sequence.status = Status.RUNNING
        first = sequence.cached_tokens is None
        if first:
            sequence.cached_tokens, sequence.known_tokens = match.length, match.known
        else:
            self.num_recomputed += max(0, sequence.peak - match.length)
        return Admission(sequence, match.slots() if copied else (), slots[0], first)

    def _place(self, match: Match, fresh: int) -> "tuple[array[int], set[int], bool] | None":
        """Find slots for a matched prefix and ``fresh`` more: (slots, private ones, whether the prefix is copied).

        Best first: grow in place behind a contiguous prefix; copy the prefix into a run with room; else leave the
        prefix where it is and take what is free (attention then gathers).
        """
        prefix = match.slots()
        total = len(prefix) + fresh
        if prefix and _is_run(prefix) and self.allocator.allocate_range(prefix[-1] + 1, fresh):
            own = range(prefix[-1] + 1, prefix[-1] + 1 + fresh)
            return prefix + array("i", own), set(own), False
        start = self.allocator.allocate_run(total)
        if start is None and total * COPY_SHARE <= self.allocator.num_slots and self._make_room(total):
            start = self.allocator.allocate_run(total)
        if start is not None:
            run = range(start, start + total)
            return array("i", run), set(run), bool(prefix)
        if not self._make_room(fresh):
            return None
        scattered = self.allocator.allocate(fresh)
        assert scattered is not None
        return prefix + array("i", scattered), set(scattered), False

    def _make_room(self, count: int) -> bool:
        """Evict until ``count`` slots are free; False (and nothing evicted) when that cannot be."""
        missing = count - self.allocator.num_free
        if missing > self.tree.num_evictable:
            return False
        if missing > 0:
            evicted = self.tree.evict(missing)
            self.num_evicted += len(evicted)
            self.allocator.free(evicted)
        return True

    def _grow(self, sequence: Sequence) -> bool:
        count = min(GROWTH, max(1, sequence.max_length - len(sequence.slots)))
        end = None if sequence.run_start is None else sequence.run_start + len(sequence.slots)
        if end is not None and self.allocator.allocate_range(end, count):
            added = list(range(end, end + count))
        else:
            if not self._make_room(count):
                count = 1
                if not self._make_room(count):
                    return False
            scattered = self.allocator.allocate(count)
            assert scattered is not None
            added, sequence.run_start = scattered, None
        sequence.slots.extend(added)
        sequence.private.update(added)
        return True

    def _release(self, sequence: Sequence) -> None:
        assert sequence.node is not None
        if sequence.run_start is not None:
            # The tree takes our contiguous copy of the prefix and gives back the older one.
            taken, given = self.tree.adopt(sequence.node, sequence.slots)
            sequence.private -= taken
            self.allocator.free(given)
        self.tree.unpin(sequence.node)
        self.allocator.free(sequence.private)
        sequence.private = set()
        sequence.slots = array("i")
        sequence.node, sequence.run_start = None, None
        self.running.remove(sequence)


def _is_run(slots: "array[int]") -> bool:
    """Whether the slots are consecutive."""
    return (
        len(slots) > 0
        and slots[-1] - slots[0] == len(slots) - 1
        and slots == array("i", range(slots[0], slots[-1] + 1))
    )
