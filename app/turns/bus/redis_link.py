"""The connections to Redis, and whether it is there. While it is away nobody waits for it, and it is tried again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionBroken
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

MOST_QUESTIONS = 16
MOST_CONNECTIONS = MOST_QUESTIONS + 4  # The tasks of the bus have one each.
_PROBE_KEY = "recount:probe"

T = TypeVar("T")


class Link:
    """`when_lost` and `when_back` are called at each change."""

    def __init__(self, url: str, *, timeout: float, pause: float) -> None:
        limits: dict[str, Any] = {
            "max_connections": MOST_CONNECTIONS,
            "socket_timeout": timeout,
            "socket_connect_timeout": timeout,
            # A connection that lay idle may have been closed on the way; one that does not answer is not asked twice.
            "retry": Retry(NoBackoff(), 1, supported_errors=(ConnectionBroken,)),
        }
        # Streams look different in the other protocol.
        pool = BlockingConnectionPool(**{**limits, **parse_url(url), "protocol": 2})
        self.client = Redis.from_pool(pool)
        self.timeout = timeout
        self.when_lost: list[Callable[[], None]] = []
        self.when_back: list[Callable[[], None]] = []
        self._pause = pause
        self._questions = anyio.Semaphore(MOST_QUESTIONS)
        self._here = asyncio.Event()
        self._here.set()
        self._away = asyncio.Event()

    @property
    def away(self) -> bool:
        return self._away.is_set()

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T | None:
        """The answer; None while Redis is away."""
        # Whoever waits for a connection learns from those before, and does not wait for the timeout as well.
        async with self._questions:
            if self.away:
                return None
            try:
                return await question()
            except (RedisError, OSError) as error:
                self.failed(error)
                return None

    async def repeat(self, step: Callable[[], Awaitable[None]]) -> None:
        """Does `step` again and again while Redis is here."""
        while True:
            await self._here.wait()
            try:
                await step()
            except Exception as error:  # Whatever it was: readers must not wait for a task that has died.
                self.failed(error)

    def failed(self, error: Exception) -> None:
        if self.away:
            return
        unforeseen = not isinstance(error, (RedisError, OSError))
        logger.warning("Redis is away, live answers are read from SQL: %s", error, exc_info=unforeseen)
        self.lose()

    async def mend(self) -> None:
        """Tries to write while Redis is away: one that is full, or only a replica, can be read all the time."""
        while True:
            await self._away.wait()
            await asyncio.sleep(self._pause)
            try:
                await self.probe()
            except (RedisError, OSError):
                continue
            logger.warning("Redis is back")
            self._away.clear()
            self._here.set()
            for call in self.when_back:
                call()

    async def probe(self) -> None:
        await self.client.set(_PROBE_KEY, "", px=1000)

    def lose(self) -> None:
        self._away.set()
        self._here.clear()
        for call in self.when_lost:
            call()
