"""Numbers the events of one turn and hands them to the bus, text in as few events as nobody notices."""

import asyncio
from uuid import UUID

from pydantic import JsonValue

from app.turns.bus import Bus
from app.turns.events import EventKind, TurnEvent


class Publisher:
    """The first text goes out at once, later text at most every `interval` seconds."""

    def __init__(self, bus: Bus, turn_id: UUID, interval: float) -> None:
        self._bus = bus
        self._turn_id = turn_id
        self._interval = interval
        self._seq = 0
        self._waiting: list[str] = []
        self._next_flush = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def event(self, kind: EventKind, data: dict[str, JsonValue]) -> None:
        """Goes out at once, behind the text that came before it."""
        self.flush()
        self._publish(kind, data)

    def text(self, text: str) -> None:
        loop = asyncio.get_running_loop()
        self._waiting.append(text)
        if loop.time() >= self._next_flush:
            self.flush()
        elif self._timer is None:
            self._timer = loop.call_at(self._next_flush, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            text, self._waiting = "".join(self._waiting), []
            self._publish("delta", {"text": text})
            self._next_flush = asyncio.get_running_loop().time() + self._interval

    def _publish(self, kind: EventKind, data: dict[str, JsonValue]) -> None:
        self._seq += 1
        self._bus.publish(self._turn_id, TurnEvent(self._seq, kind, data))
