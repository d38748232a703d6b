"""Event logs in the memory of this process, which serves alone."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID

from app.conversations import LiveText
from app.turns.bus.log import Log
from app.turns.events import TurnEvent


class MemoryBus:
    """Ended logs are kept for `keep_seconds`, for readers that come back."""

    def __init__(
        self, *, keep_seconds: float, patience: float = 10.0, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._logs: dict[UUID, Log] = {}
        self._ended_at: dict[UUID, float] = {}
        self._stop: Callable[[UUID], None] | None = None
        self._keep_seconds = keep_seconds
        self._patience = patience
        self._monotonic = monotonic

    @property
    def away(self) -> bool:
        return False

    @asynccontextmanager
    async def serving(self, stop: Callable[[UUID], None]) -> AsyncIterator[None]:
        self._stop = stop
        yield

    def open(self, turn_id: UUID, text: str = "") -> None:
        self._logs[turn_id] = Log(self._patience, parts=[text])

    def publish(self, turn_id: UUID, event: TurnEvent) -> None:
        log = self._logs.get(turn_id)
        if log is None:
            return
        log.append(event)
        if event.kind == "end":
            self._ended_at[turn_id] = self._monotonic()

    async def snapshot(self, turn_id: UUID) -> LiveText | None:
        log = self._logs.get(turn_id)
        return log.snapshot() if log else None

    async def follow(self, turn_id: UUID, after: int) -> AsyncGenerator[TurnEvent, None] | None:
        log = self._logs.get(turn_id)
        return log.follow(after) if log else None

    def cancel(self, turn_id: UUID) -> None:
        if self._stop is not None:
            self._stop(turn_id)

    def drop(self, turn_id: UUID) -> None:
        self._ended_at.pop(turn_id, None)
        log = self._logs.pop(turn_id, None)
        if log is not None:
            log.drop()

    def sweep(self) -> None:
        limit = self._monotonic() - self._keep_seconds
        for turn_id in [turn_id for turn_id, ended_at in self._ended_at.items() if ended_at <= limit]:
            self.drop(turn_id)
