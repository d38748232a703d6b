"""A stream of events that ends when its reader's session does: nobody follows an answer after being signed out.

It also ends when the server does, between two events.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import anyio

Event = TypeVar("Event")

logger = logging.getLogger(__name__)


async def while_allowed(
    events: AsyncIterator[Event],
    allowed: Callable[[], Awaitable[bool]],
    every: float,
    closing: anyio.Event | None = None,
) -> AsyncIterator[Event]:
    """Asks every `every` seconds, in any silence too, and ends at the first no. Not to be able to ask is no no.

    Whoever serves the stream sets `closing` to end it at once.
    """
    watch = _Watch(allowed, every, closing or anyio.Event())
    try:
        while not watch.ended:
            with anyio.CancelScope() as watch.waiting:
                event = await anext(events, None)
            if watch.waiting.cancelled_caught or event is None:
                return
            yield event
    finally:
        watch.over.cancel()


class _Watch:
    """A task of its own: to wait for each event with a time limit would cost a timer for each.

    Cancels by scopes, never by tasks: what reads from the database finishes first.
    """

    def __init__(self, allowed: Callable[[], Awaitable[bool]], every: float, closing: anyio.Event) -> None:
        self.ended = False
        self._closing = closing
        self.waiting = anyio.CancelScope()
        self.over = anyio.CancelScope()
        self._task = asyncio.create_task(self._run(allowed, every))

    async def _run(self, allowed: Callable[[], Awaitable[bool]], every: float) -> None:
        with self.over:
            while not self.ended:
                with anyio.move_on_after(every):
                    await self._closing.wait()
                self.ended = self._closing.is_set() or not await _ask(allowed)
            self.waiting.cancel()


async def _ask(allowed: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await allowed()
    except Exception:
        logger.exception("a stream's session could not be checked")
        return True
