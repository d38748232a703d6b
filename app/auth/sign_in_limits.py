"""How often somebody may try to sign in.

Wrong tries at a name from one address shut out that address alone. The limit of the name itself is more than
one address can reach, so that it takes many addresses to keep an owner out.
"""

from typing import Any, Final

from limits import RateLimitItemPerHour, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from redis.asyncio import ConnectionPool

from app.errors import TooMany

_PER_PAIR: Final = RateLimitItemPerMinute(10, 5, namespace="sign-in-pair")
_PER_NAME: Final = RateLimitItemPerHour(200, namespace="sign-in-name")
_PER_REMOTE: Final = RateLimitItemPerMinute(30, 5, namespace="sign-in-remote")
_RETRY_AFTER_S = 60
_REDIS_TIMEOUT_S = 2


class SignInLimits:
    """Counts in memory, or in Redis where several processes must count together."""

    def __init__(self, redis_url: str | None) -> None:
        self._pool: ConnectionPool | None = None
        storage: Storage = MemoryStorage()
        if redis_url is not None:
            self._pool = ConnectionPool.from_url(
                redis_url, socket_timeout=_REDIS_TIMEOUT_S, socket_connect_timeout=_REDIS_TIMEOUT_S
            )
            # Its signature does not know the pool that its documentation speaks of. The pool knows the address;
            # the storage's own parser wants a port, and takes unix:// for something else.
            options: dict[str, Any] = {"connection_pool": self._pool, "key_prefix": "recount:limits"}
            storage = RedisStorage("async+redis://", implementation="redispy", wrap_exceptions=True, **options)
        # Not the moving window: its memory store loses a race against its own expiry when it is cleared.
        self._limiter = SlidingWindowCounterRateLimiter(storage)

    async def count_try(self, name_key: str, remote: str) -> None:
        """TooMany at a limit, and also where the tries cannot be counted."""
        try:
            # A try that one limit refuses does not count for those behind it.
            allowed = (
                await self._limiter.hit(_PER_REMOTE, remote)
                and await self._limiter.hit(_PER_PAIR, remote, name_key)
                and await self._limiter.hit(_PER_NAME, name_key)
            )
        except StorageError:
            allowed = False
        if not allowed:
            raise TooMany("Too many tries; wait a minute.", _RETRY_AFTER_S)

    async def forgive(self, name_key: str, remote: str) -> None:
        """After a success the name starts from zero, and so does the name from this address."""
        try:
            await self._limiter.clear(_PER_PAIR, remote, name_key)
            await self._limiter.clear(_PER_NAME, name_key)
        except StorageError:
            return

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()
