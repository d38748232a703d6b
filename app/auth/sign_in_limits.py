"""How often somebody may try to sign in: per name and per remote address, without locking accounts."""

from typing import Any, Final

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from redis.asyncio import ConnectionPool

from app.errors import TooMany

_PER_NAME: Final = RateLimitItemPerMinute(10, 5, namespace="sign-in-name")
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
            # Its signature does not know the pool that its documentation speaks of.
            options: dict[str, Any] = {"connection_pool": self._pool}
            storage = RedisStorage(f"async+{redis_url}", implementation="redispy", wrap_exceptions=True, **options)
        # Not the moving window: its memory store loses a race against its own expiry when it is cleared.
        self._limiter = SlidingWindowCounterRateLimiter(storage)

    async def count_try(self, name_key: str, remote: str) -> None:
        """TooMany at a limit, and also where the tries cannot be counted."""
        try:
            allowed = await self._limiter.hit(_PER_REMOTE, remote) and await self._limiter.hit(_PER_NAME, name_key)
        except StorageError:
            allowed = False
        if not allowed:
            raise TooMany("Too many tries; wait a minute.", _RETRY_AFTER_S)

    async def forgive(self, name_key: str) -> None:
        """After a success the name starts from zero."""
        try:
            await self._limiter.clear(_PER_NAME, name_key)
        except StorageError:
            return

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()
