"""Doing something beside requests, again and again. It does not know what."""

import logging
from collections.abc import Awaitable, Callable

import anyio
from sqlalchemy.exc import SQLAlchemyError

logger = logging.getLogger(__name__)


class Sweeping:
    """`sweep` is done every so many seconds, for the first time after as many."""

    def __init__(self, sweep: Callable[[], Awaitable[None]], every: float) -> None:
        self._sweep = sweep
        self._every = every
        self._stopping = anyio.Event()

    async def run(self) -> None:
        """Until stopped. A database that is away is tried again the next time."""
        while True:
            with anyio.move_on_after(self._every):
                await self._stopping.wait()
                return
            try:
                await self._sweep()
            except SQLAlchemyError:
                logger.exception("what is done beside requests failed, and will be tried again")

    def stop(self) -> None:
        self._stopping.set()
