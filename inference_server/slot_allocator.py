"""Which slots of the KV pool are free, kept as maximal runs.

A slot holds the keys and values of one token. The allocator knows nothing of tokens, requests or the cache.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable


class SlotAllocator:
    """Free slots of a pool of ``num_slots``, as sorted, disjoint, non-adjacent runs ``[start, end)``."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.num_free = num_slots
        self._starts = [0] if num_slots else []
        self._ends = [num_slots] if num_slots else []

    def allocate_run(self, count: int) -> int | None:
        """Take ``count`` consecutive slots and return the first, or None when no free run is that long.

        The longest run is used, so that the request finds free slots behind its own to grow into.
        """
        longest = max(range(len(self._starts)), key=self._length, default=None)
        if longest is None or self._length(longest) < count:
            return None
        start = self._starts[longest]
        self._take(longest, start, start + count)
        return start

    def allocate_range(self, start: int, count: int) -> bool:
        """Take exactly the slots ``start .. start + count - 1``; False (and nothing taken) when one is not free."""
        assert count > 0
        index = bisect_right(self._starts, start) - 1
        if index < 0 or start + count > self._ends[index]:
            return False
        self._take(index, start, start + count)
        return True

    def allocate(self, count: int) -> list[int] | None:
        """Take ``count`` slots wherever they are, longest runs first; None when too few are free."""
        if count > self.num_free:
            return None
        slots: list[int] = []
        while len(slots) < count:
            longest = max(range(len(self._starts)), key=self._length)
            start = self._starts[longest]
            end = min(self._ends[longest], start + count - len(slots))
            self._take(longest, start, end)
            slots.extend(range(start, end))
        return slots

    def free(self, slots: Iterable[int]) -> None:
        """Give slots back. Freeing a free slot is a fault of ours and raises AssertionError."""
        ordered = sorted(slots)
        begin = 0
        for index in range(1, len(ordered) + 1):
            if index == len(ordered) or ordered[index] != ordered[index - 1] + 1:
                self._give(ordered[begin], ordered[index - 1] + 1)
                begin = index

    def free_slots(self) -> list[int]:
        """All free slots in order, for invariant checks."""
        return [slot for start, end in zip(self._starts, self._ends, strict=True) for slot in range(start, end)]

    def _length(self, index: int) -> int:
        return self._ends[index] - self._starts[index]

    def _take(self, index: int, start: int, end: int) -> None:
        first, last = self._starts[index], self._ends[index]
        remaining = [(a, b) for a, b in ((first, start), (end, last)) if a < b]
        self._starts[index : index + 1] = [a for a, _ in remaining]
        self._ends[index : index + 1] = [b for _, b in remaining]
        self.num_free -= end - start

    def _give(self, start: int, end: int) -> None:
        index = bisect_left(self._starts, start)
        before = index > 0 and self._ends[index - 1] >= start
        after = index < len(self._starts) and self._starts[index] <= end
        if before:
            assert self._ends[index - 1] == start, f"slot {start} was freed twice"
        if after:
            assert self._starts[index] == end, f"slot {end - 1} was freed twice"
        assert start >= 0, f"slot {start} does not exist"
        assert end <= self.num_slots, f"slot {end - 1} does not exist"
        first = self._starts[index - 1] if before else start
        last = self._ends[index] if after else end
        low, high = index - before, index + after
        self._starts[low:high] = [first]
        self._ends[low:high] = [last]
        self.num_free += end - start
