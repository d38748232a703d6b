"""What this process writes to Redis: queued by callers that never wait, sent in order by one task."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from redis.exceptions import RedisError

from app.turns.bus import redis_streams
from app.turns.bus.redis_link import Link
from app.turns.bus.redis_streams import GONE, Order
from app.turns.events import TurnEvent

LONGEST_QUEUE = 20_000
LONGEST_BATCH = 1_000


class Outbox:
    """Where Redis goes away, all logs that are written here are lost; what is left of them is dropped when it is back.

    So a log in Redis has no holes, and none stays that nobody writes on.
    """

    def __init__(self, link: Link, keep_ms: int) -> None:
        self._link = link
        self._keep_ms = keep_ms
        self._writable: set[UUID] = set()
        self._to_drop: set[UUID] = set()
        self._queue: list[Order] = []
        self._sending: Sequence[Order] = ()
        self._queued = 0
        self._settled = 0
        self._filled = asyncio.Event()
        self._progress = asyncio.Event()
        link.when_lost.append(self._lose)
        link.when_back.append(self._drop_lost)

    def open(self, turn_id: UUID, text: str) -> None:
        if not self._link.away:
            self._writable.add(turn_id)
            self._put(redis_streams.open_log(turn_id, text))

    def publish(self, turn_id: UUID, event: TurnEvent) -> None:
        if turn_id not in self._writable:
            return
        self._put(redis_streams.append(turn_id, event, self._keep_ms))
        if event.kind == "end":
            self._writable.discard(turn_id)

    def cancel(self, turn_id: UUID) -> None:
        if not self._link.away:
            self._put(redis_streams.cancel(turn_id))

    def drop(self, turn_id: UUID) -> None:
        self._writable.discard(turn_id)
        if self._link.away:
            self._to_drop.add(turn_id)
        else:
            self._put(redis_streams.drop(turn_id, self._keep_ms))

    async def settled(self) -> None:
        """Waits until all that is queued by now is in Redis, or lost."""
        ticket = self._queued
        while self._settled < ticket:
            await self._progress.wait()

    async def send(self) -> None:
        """The next batch, once there is one."""
        await self._filled.wait()
        batch, self._queue = self._queue[:LONGEST_BATCH], self._queue[LONGEST_BATCH:]
        ticket = self._queued - len(self._queue)
        self._sending = batch
        if not self._queue:
            self._filled.clear()
        async with self._link.client.pipeline(transaction=False) as pipeline:
            for order in batch:
                pipeline.execute_command(*order.words)
            replies = await pipeline.execute()
        self._sending = ()
        # Dropped by another process, or by Redis itself.
        self._writable -= {
            order.turn_id for order, reply in zip(batch, replies, strict=True) if order.turn_id and reply == GONE
        }
        self._settle(ticket)

    def _put(self, order: Order) -> None:
        self._queue.append(order)
        self._queued += 1
        self._filled.set()
        if len(self._queue) > LONGEST_QUEUE:
            self._link.failed(RedisError("it takes less than is written"))

    def _lose(self) -> None:
        unsent = {order.turn_id for order in (*self._sending, *self._queue) if order.turn_id}
        self._to_drop |= self._writable | unsent
        self._writable.clear()
        self._queue.clear()
        self._sending = ()
        self._filled.clear()
        self._settle(self._queued)

    def _drop_lost(self) -> None:
        turn_ids, self._to_drop = self._to_drop, set()
        for turn_id in turn_ids:
            self.drop(turn_id)

    def _settle(self, ticket: int) -> None:
        self._settled = max(self._settled, ticket)
        self._progress.set()
        self._progress = asyncio.Event()
