"""One turn's log in memory, and the way to follow it. It does not know who fills it."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import anyio

from app.conversations import LiveText
from app.turns.bus.bus import LogLost
from app.turns.events import TurnEvent

LONGEST_LOG = 4_000


@dataclass(slots=True, eq=False)
class Log:
    """`events` are numbered from `first`; `parts` are all texts, those of trimmed events included.

    A reader who hears nothing for `patience` seconds is sent to see whether anybody still writes.
    """

    patience: float
    events: list[TurnEvent] = field(default_factory=list)
    first: int = 1
    parts: list[str] = field(default_factory=list)
    ended: bool = False
    dropped: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def last(self) -> int:
        return self.first + len(self.events) - 1

    def snapshot(self) -> LiveText:
        return LiveText("".join(self.parts), self.last)

    def append(self, event: TurnEvent) -> None:
        self.events.append(event)
        if event.kind == "delta":
            self.parts.append(str(event.data["text"]))
        self.ended = self.ended or event.kind == "end"
        if len(self.events) > LONGEST_LOG:
            half = LONGEST_LOG // 2
            del self.events[:half]
            self.first += half
        self._announce()

    def drop(self) -> None:
        self.dropped = True
        self._announce()

    def _announce(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def follow(self, after: int) -> AsyncGenerator[TurnEvent, None]:
        while True:
            changed = self.changed
            if not self.first - 1 <= after <= self.last:
                after = self.last
                yield TurnEvent(after, "reset", {"text": "".join(self.parts), "cursor": after})
            for event in self.events[after - self.first + 1 :]:
                if self.dropped:
                    break
                after = event.seq
                yield event
            if self.dropped:
                raise LogLost
            if after < self.last:
                continue
            if self.ended:
                return
            with anyio.move_on_after(self.patience) as waiting:
                await changed.wait()
            if waiting.cancelled_caught:
                raise LogLost
