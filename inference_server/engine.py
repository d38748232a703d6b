"""The engine: one step is prepare (abort, admit) and compute (schedule, run, sample, commit).

Synchronous and free of IO; the engine thread calls it. It knows token ids and a :class:`ModelRunner`, not text, HTTP
or torch.
"""

from array import array
from collections.abc import Sequence as Run
from dataclasses import dataclass

import structlog

from inference_server.model_runner import BatchItem, ModelRunner
from inference_server.scheduler import Scheduler, Work
from inference_server.sequence import Sequence, Status, StopReason

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request has begun to run; its accounting is final from here on."""

    id: str
    prompt_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Queued:
    """A request waits, anew or again; ``position`` counts from 1 and is told when it changes."""

    id: str
    position: int


@dataclass(frozen=True, slots=True)
class Prefilled:
    """A chunk of a prompt has been computed; ``processed`` counts the cached tokens too."""

    id: str
    total: int
    cached: int
    processed: int


@dataclass(frozen=True, slots=True)
class TextGenerated:
    """Text that may be delivered now. Empty when a token added no complete character."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A request has ended. Its KV is in the cache already, so a follow-up may be sent at once."""

    id: str
    reason: StopReason
    stop_sequence: str | None
    output_tokens: int


EngineEvent = Queued | Admitted | Prefilled | TextGenerated | Finished


class Engine:
    """Runs sequences to their end, a step at a time."""

    def __init__(self, runner: ModelRunner, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._runner = runner
        self._sequences: dict[str, Sequence] = {}
        self._aborts: list[str] = []
        self._positions: dict[str, int] = {}
        self.step_rows = 0
        """Rows of the latest step's batch; 0 where nothing ran."""

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._sequences)

    def add(self, sequence: Sequence) -> None:
        """Queue a request."""
        self._sequences[sequence.id] = sequence
        self.scheduler.add(sequence)

    def abort(self, request_id: str) -> None:
        """End a request at the next step, whatever its state. One that is not known has ended already."""
        self._aborts.append(request_id)

    def attention(self, scope: bytes, tokens: "array[int]", layer: int) -> "list[array[float]] | None":
        """Where the last of these tokens looks: weights [heads][tokens]. None where KV is gone. Changes nothing."""
        slots = self.scheduler.tree.resident(scope, tokens)
        return self._runner.attention(tokens[-1], slots, layer) if len(slots) == len(tokens) else None

    def forget(self, scope: bytes, tokens: "array[int]") -> int:
        """Free what these tokens alone have in the cache; returns how many slots that were."""
        return self.scheduler.forget(scope, tokens)

    def prepare(self) -> list[EngineEvent]:
        """The first half of a step: end what was aborted, admit what fits. Quick, so that admissions are told early.

        An exception here leaves requests half admitted: the engine must not be used any more.
        """
        events: list[EngineEvent] = []
        self._process_aborts(events)
        self._admit(events)
        self._tell_positions(events)
        return events

    def compute(self) -> list[EngineEvent]:
        """The second half: compute one batch; returns what happened, in order. Everything told is committed."""
        events: list[EngineEvent] = []
        works = self.scheduler.schedule()
        self.step_rows = sum(work.count for work in works)
        if works:
            for work, result in zip(works, self._run(works), strict=True):
                self._commit(work, result, events)
        return events

    def _process_aborts(self, events: list[EngineEvent]) -> None:
        aborts, self._aborts = self._aborts, []
        for request_id in aborts:
            sequence = self._sequences.get(request_id)
            if sequence is not None:
                self._finish(sequence, StopReason.ABORTED, None, events)

    def _admit(self, events: list[EngineEvent]) -> None:
        for admission in self.scheduler.admit():
            sequence = admission.sequence
            if admission.source:
                self._runner.copy_kv(admission.source, admission.target)
            if admission.first:
                assert sequence.cached_tokens is not None
                events.append(Admitted(sequence.id, len(sequence.prompt), sequence.cached_tokens))

    def _tell_positions(self, events: list[EngineEvent]) -> None:
        positions = {sequence.id: place for place, sequence in enumerate(self.scheduler.waiting, 1)}
        events.extend(Queued(*item) for item in positions.items() if item not in self._positions.items())
        self._positions = positions

    def _run(self, works: list[Work]) -> "Run[int | Exception | None]":
        """Run the batch; when it fails, each item alone, so that only the request at fault ends."""
        items = [_batch_item(work) for work in works]
        try:
            return self._runner.run(items)
        except Exception:
            log.exception("step_failed", rows=self.step_rows)
        return [self._run_alone(item) for item in items]

    def _run_alone(self, item: BatchItem) -> int | Exception | None:
        try:
            return self._runner.run([item])[0]
        except Exception as error:
            return error

    def _commit(self, work: Work, result: int | Exception | None, events: list[EngineEvent]) -> None:
        sequence = work.sequence
        if isinstance(result, Exception):
            log.error("request_failed", request=sequence.id, error=type(result).__name__)
            self._finish(sequence, StopReason.FAILED, None, events)
            return
        prefilling = not sequence.is_decoding
        self.scheduler.commit(work)
        if prefilling and not sequence.output:
            cached = sequence.cached_tokens or 0
            # After a preemption the way begins again, but what has been told stays told.
            processed = max(cached, sequence.peak)
            events.append(Prefilled(sequence.id, len(sequence.prompt), cached, processed))
        if result is not None:
            self._take_token(sequence, result, events)
        elif sequence.max_tokens == 0 and sequence.num_uncomputed == 0:
            self._finish(sequence, StopReason.MAX_TOKENS, None, events)

    def _take_token(self, sequence: Sequence, token: int, events: list[EngineEvent]) -> None:
        sequence.output.append(token)
        if token in sequence.end_tokens:
            self._finish(sequence, StopReason.END_TURN, None, events)
            return
        text, stop_sequence = sequence.reader.push(token)
        events.append(TextGenerated(sequence.id, text))
        if stop_sequence is not None:
            self._finish(sequence, StopReason.STOP_SEQUENCE, stop_sequence, events)
        elif len(sequence.output) >= sequence.max_tokens:
            reason = StopReason.CONTEXT_WINDOW if sequence.clamped else StopReason.MAX_TOKENS
            self._finish(sequence, reason, None, events)

    def _finish(
        self, sequence: Sequence, reason: StopReason, stop_sequence: str | None, events: list[EngineEvent]
    ) -> None:
        if sequence.output and reason is not StopReason.STOP_SEQUENCE and (held := sequence.reader.finish()):
            events.append(TextGenerated(sequence.id, held))
        self.scheduler.finish(sequence)
        del self._sequences[sequence.id]
        events.append(Finished(sequence.id, reason, stop_sequence, len(sequence.output)))


def _batch_item(work: Work) -> BatchItem:
    sequence = work.sequence
    assert sequence.status is Status.RUNNING
    start, end = sequence.computed, sequence.computed + work.count
    return BatchItem(
        tokens=sequence.tokens(start, end),
        start=start,
        slots=sequence.slots[:end],
        run_start=sequence.run_start,
        draw=sequence.sampling.draw(len(sequence.output)) if work.samples else None,
    )
