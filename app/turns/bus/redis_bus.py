"""Event logs in Redis Streams, for several processes: any of them may write a turn, follow it, or cancel it.

Without Redis turns go on all the same: their logs are lost, and readers turn to SQL.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import anyio

from app.conversations import LiveText
from app.turns.bus.redis_link import Link
from app.turns.bus.redis_outbox import Outbox
from app.turns.bus.redis_reader import Reader
from app.turns.bus.redis_streams import CANCEL_CHANNEL
from app.turns.events import TurnEvent


class RedisBus:
    """`timeout` is how long Redis may take for an answer, `pause` lies between tries to reach it again.

    Ended logs are kept for `keep_seconds`, for readers that come back.
    """

    def __init__(
        self, url: str, *, keep_seconds: float, patience: float = 10.0, timeout: float = 2.0, pause: float = 1.0
    ) -> None:
        self._link = Link(url, timeout=timeout, pause=pause)
        self._outbox = Outbox(self._link, keep_ms=max(1, int(keep_seconds * 1000)))
        self._reader = Reader(self._link, patience)

    @property
    def away(self) -> bool:
        return self._link.away

    @asynccontextmanager
    async def serving(self, stop: Callable[[UUID], None]) -> AsyncIterator[None]:
        async def listen() -> None:
            await self._listen(stop)

        await self._link.ask(self._link.probe)
        works = [self._link.repeat(step) for step in (self._outbox.send, self._reader.read, listen)]
        works.append(self._link.mend())
        scopes = [anyio.CancelScope() for _ in works]
        tasks = [asyncio.create_task(_within(scope, work)) for scope, work in zip(scopes, works, strict=True)]
        try:
            yield
        finally:
            with anyio.move_on_after(self._link.timeout):
                await self._outbox.settled()
            await self._link.ask(self._reader.leave)
            self._link.lose()
            for scope in scopes:
                scope.cancel()
            await asyncio.gather(*tasks)
            await self._link.client.aclose()

    def open(self, turn_id: UUID, text: str = "") -> None:
        self._outbox.open(turn_id, text)

    def publish(self, turn_id: UUID, event: TurnEvent) -> None:
        self._outbox.publish(turn_id, event)

    async def snapshot(self, turn_id: UUID) -> LiveText | None:
        await self._outbox.settled()
        return await self._link.ask(lambda: self._reader.snapshot(turn_id))

    async def follow(self, turn_id: UUID, after: int) -> AsyncGenerator[TurnEvent, None] | None:
        await self._outbox.settled()
        return await self._link.ask(lambda: self._reader.follow(turn_id, after))

    def cancel(self, turn_id: UUID) -> None:
        self._outbox.cancel(turn_id)

    def drop(self, turn_id: UUID) -> None:
        self._outbox.drop(turn_id)

    def sweep(self) -> None:
        """Redis itself forgets."""

    async def _listen(self, stop: Callable[[UUID], None]) -> None:
        """What is published while nobody listens is lost; the flag in SQL is not."""
        async with self._link.client.pubsub() as channel:
            await channel.subscribe(CANCEL_CHANNEL)
            while True:
                message = await channel.get_message(ignore_subscribe_messages=True, timeout=60.0)
                if message is not None:
                    with suppress(ValueError):
                        stop(UUID(message["data"].decode()))


async def _within(scope: anyio.CancelScope, work: Coroutine[None, None, None]) -> None:
    """Unlike a task's own, a scope's cancellation cannot get lost while the client of Redis connects."""
    with scope:
        await work
