"""Event logs of turns: one interface, and the one that lives in the memory of this process.

A log is append-only; readers follow it by cursor and never hold a writer up.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from app.conversations import LiveText
from app.turns.events import TurnEvent

LONGEST_LOG = 4_000


class Bus(Protocol):
    def open(self, turn_id: UUID, text: str = "") -> None:
        """Starts a log without events; `text` is what the answer has already."""

    def publish(self, turn_id: UUID, event: TurnEvent) -> None:
        """Appends; never waits. `end` closes the log. Nothing happens if the log was dropped."""

    def snapshot(self, turn_id: UUID) -> LiveText | None:
        """Text and cursor captured at once; None without a log here."""

    def follow(self, turn_id: UUID, after: int) -> AsyncIterator[TurnEvent] | None:
        """Events behind `after`, then new ones until `end`, or until the log is dropped.

        Begins with `reset` where the events behind `after` are not all here. None without a log.
        """

    def drop(self, turn_id: UUID) -> None:
        """Forgets the log and its text at once."""

    def sweep(self) -> None:
        """Forgets logs that ended a while ago."""


@dataclass(slots=True)
class _Log:
    """`events` are numbered from `first`; `parts` are all texts, those of trimmed events included."""

    events: list[TurnEvent] = field(default_factory=list)
    first: int = 1
    parts: list[str] = field(default_factory=list)
    ended_at: float | None = None
    dropped: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def last(self) -> int:
        return self.first + len(self.events) - 1

    def announce(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class MemoryBus:
    """Serves one process. Ended logs are kept for `keep_seconds`, for readers that come back."""

    def __init__(self, *, keep_seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._logs: dict[UUID, _Log] = {}
        self._keep_seconds = keep_seconds
        self._monotonic = monotonic

    def open(self, turn_id: UUID, text: str = "") -> None:
        self._logs[turn_id] = _Log(parts=[text])

    def publish(self, turn_id: UUID, event: TurnEvent) -> None:
        log = self._logs.get(turn_id)
        if log is None:
            return
        log.events.append(event)
        if event.kind == "delta":
            log.parts.append(str(event.data["text"]))
        if event.kind == "end":
            log.ended_at = self._monotonic()
        if len(log.events) > LONGEST_LOG:
            half = LONGEST_LOG // 2
            del log.events[:half]
            log.first += half
        log.announce()

    def snapshot(self, turn_id: UUID) -> LiveText | None:
        log = self._logs.get(turn_id)
        return LiveText("".join(log.parts), log.last) if log else None

    def follow(self, turn_id: UUID, after: int) -> AsyncIterator[TurnEvent] | None:
        log = self._logs.get(turn_id)
        return _follow(log, after) if log else None

    def drop(self, turn_id: UUID) -> None:
        log = self._logs.pop(turn_id, None)
        if log is not None:
            log.dropped = True
            log.announce()

    def sweep(self) -> None:
        limit = self._monotonic() - self._keep_seconds
        for turn_id, log in list(self._logs.items()):
            if log.ended_at is not None and log.ended_at <= limit:
                self.drop(turn_id)


async def _follow(log: _Log, after: int) -> AsyncIterator[TurnEvent]:
    while True:
        changed = log.changed
        if not log.first - 1 <= after <= log.last:
            after = log.last
            yield TurnEvent(after, "reset", {"text": "".join(log.parts), "cursor": after})
        for event in log.events[after - log.first + 1 :]:
            after = event.seq
            yield event
        if after < log.last:
            continue
        if log.ended_at is not None or log.dropped:
            return
        await changed.wait()
