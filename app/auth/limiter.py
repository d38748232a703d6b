"""Counting what somebody does in a window of time: in memory, or in Redis where several processes count together."""

from typing import Any

from limits import RateLimitItem
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import ConnectionPool

_REDIS_TIMEOUT_S = 2


class Limiter:
    """Every call raises `limits.errors.StorageError` where Redis is away; what that means is the caller's choice."""

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
        self._window = SlidingWindowCounterRateLimiter(storage)

    async def hit(self, limit: RateLimitItem, *who: str) -> bool:
        """False at the limit."""
        return await self._window.hit(limit, *who)

    async def clear(self, limit: RateLimitItem, *who: str) -> None:
        await self._window.clear(limit, *who)

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()
