"""What this process reads from Redis: one task reads the streams of all turns that somebody here follows.

Each of them is mirrored in a log in memory, which its followers share.
"""

import uuid
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.conversations import LiveText
from app.turns.bus.bus import LogLost
from app.turns.bus.log import Log
from app.turns.bus.redis_link import Link
from app.turns.bus.redis_streams import LIVE_MS, Entry, events_key, events_of, number_of, text_key
from app.turns.events import TurnEvent

MOST_ENTRIES = 500  # Of one stream in one answer.


@dataclass(slots=True, eq=False)
class _Mirror:
    log: Log
    followers: int = 0


class Reader:
    def __init__(self, link: Link, patience: float) -> None:
        self._link = link
        self._patience = patience
        self._mirrors: dict[UUID, _Mirror] = {}
        # The reading task waits for this stream too, so that it hears of new mirrors at once.
        self._wake_key = f"recount:wake:{uuid.uuid4()}"
        self._woken = b"0"
        link.when_lost.append(self._lose)

    async def snapshot(self, turn_id: UUID) -> LiveText | None:
        async with self._link.client.pipeline(transaction=True) as pipeline:
            pipeline.get(text_key(turn_id))
            pipeline.xrevrange(events_key(turn_id), count=1)
            text, entries = await pipeline.execute()
        if text is None:
            return None
        return LiveText(text.decode(), number_of(entries[0]) if entries else 0)

    async def follow(self, turn_id: UUID, after: int) -> AsyncGenerator[TurnEvent, None] | None:
        mirror = self._mirrors.get(turn_id)
        if mirror is None or mirror.log.last < after:
            log = await self._fetch(turn_id)
            if log is None:
                return None
            mirror = await self._mirror(turn_id, log)
        return self._attend(turn_id, mirror, after)

    async def read(self) -> None:
        """Waits a moment for new entries."""
        turn_ids = {events_key(turn_id).encode(): turn_id for turn_id in self._mirrors}
        streams: dict[Any, Any] = {self._wake_key.encode(): self._woken}
        for key, turn_id in turn_ids.items():
            streams[key] = f"{self._mirrors[turn_id].log.last}-0"
        # Far from the timeout, which says that Redis does not answer.
        wait_ms = max(1, int(self._link.timeout * 1000 / 4))
        found: Any = await self._link.client.xread(streams, count=MOST_ENTRIES, block=wait_ms)
        for key, entries in found:
            if key in turn_ids:
                self._deliver(turn_ids[key], entries)
            else:
                self._woken = entries[-1][0]

    async def leave(self) -> None:
        await self._link.client.delete(self._wake_key)

    async def _fetch(self, turn_id: UUID) -> Log | None:
        async with self._link.client.pipeline(transaction=True) as pipeline:
            pipeline.get(text_key(turn_id))
            pipeline.xrange(events_key(turn_id))
            text, entries = await pipeline.execute()
        if text is None:
            return None
        events = [event for event in events_of(entries) if event != "gone"]
        ended = bool(events) and events[-1].kind == "end"
        first = events[0].seq if events else 1
        return Log(self._patience, events=events, first=first, parts=[text.decode()], ended=ended)

    async def _mirror(self, turn_id: UUID, log: Log) -> _Mirror:
        mirror = self._mirrors.get(turn_id)
        if mirror is not None:  # Another follower was first, or had an older one.
            self._catch_up(turn_id, mirror, log.events)
            return mirror
        mirror = _Mirror(log)
        if not log.ended:
            self._mirrors[turn_id] = mirror
            try:
                await self._wake()
            except BaseException:
                # A reader who leaves just now never follows, so nothing else would take the mirror away.
                if mirror.followers == 0:
                    self._forget(turn_id, mirror)
                    log.drop()
                raise
        return mirror

    async def _wake(self) -> None:
        async with self._link.client.pipeline(transaction=False) as pipeline:
            pipeline.xadd(self._wake_key, {"new": "turn"}, maxlen=1)
            pipeline.pexpire(self._wake_key, LIVE_MS)
            await pipeline.execute()

    async def _attend(self, turn_id: UUID, mirror: _Mirror, after: int) -> AsyncGenerator[TurnEvent, None]:
        mirror.followers += 1
        try:
            async for event in mirror.log.follow(after):
                yield event
        except LogLost:
            # After a long silence as well: all followers ask Redis anew whether the log is there.
            self._forget(turn_id, mirror)
            mirror.log.drop()
            raise
        finally:
            mirror.followers -= 1
            if mirror.followers == 0:
                self._forget(turn_id, mirror)

    def _deliver(self, turn_id: UUID, entries: Sequence[Entry]) -> None:
        mirror = self._mirrors.get(turn_id)
        if mirror is not None:
            self._catch_up(turn_id, mirror, events_of(entries))

    def _catch_up(self, turn_id: UUID, mirror: _Mirror, events: Sequence[TurnEvent | str]) -> None:
        log = mirror.log
        for event in events:
            # Behind a hole, where Redis has trimmed or lost something, it has to be fetched anew.
            if isinstance(event, str) or event.seq > log.last + 1:
                log.drop()
                break
            if event.seq == log.last + 1:
                log.append(event)
        if log.dropped or log.ended:
            self._forget(turn_id, mirror)

    def _forget(self, turn_id: UUID, mirror: _Mirror) -> None:
        if self._mirrors.get(turn_id) is mirror:
            del self._mirrors[turn_id]

    def _lose(self) -> None:
        mirrors, self._mirrors = self._mirrors, {}
        for mirror in mirrors.values():
            mirror.log.drop()
