"""Numbers the events of one turn and hands them to the bus, text in as few events as nobody notices.

Behind the text go the blocks that are made of it.
"""

import asyncio
from uuid import UUID

from pydantic import JsonValue

from app.turns.bus import Bus
from app.turns.events import EventKind, TurnEvent
from app.turns.live_markdown import LiveMarkdown, RenderingRoom
from app.turns.rhythm import Rhythm


class Publisher:
    """The first text goes out at once, later text at most every `rhythm.coalesce` seconds.

    `prefix` is the text that the log was opened with.
    """

    def __init__(self, bus: Bus, turn_id: UUID, rhythm: Rhythm, room: RenderingRoom, prefix: str = "") -> None:
        self._bus = bus
        self._turn_id = turn_id
        self._interval = rhythm.coalesce
        self._seq = 0
        self._waiting: list[str] = []
        self._next_flush = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._last_render = rhythm.last_render
        self._live = LiveMarkdown(room, self._publish, rhythm.preview, prefix)

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
            self._live.take(text)
            self._next_flush = asyncio.get_running_loop().time() + self._interval

    async def finish(self) -> None:
        """No more text comes: waits a moment for the HTML of what came last."""
        self.flush()
        await self._live.finish(self._last_render)

    def close(self) -> None:
        self._live.close()

    def _publish(self, kind: EventKind, data: dict[str, JsonValue]) -> None:
        self._seq += 1
        if kind == "reset":
            data = {**data, "cursor": self._seq}
        self._bus.publish(self._turn_id, TurnEvent(self._seq, kind, data))
