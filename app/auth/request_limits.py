"""How often a signed-in person may do what costs much. Redis being away is no reason to refuse: others still count."""

from typing import Final, Literal
from uuid import UUID

from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.errors import StorageError

from app.auth.limiter import Limiter
from app.errors import TooMany

Costly = Literal["send", "export", "stream"]

_EXPORTS: Final = RateLimitItemPerHour(60, namespace="export")
_STREAMS: Final = RateLimitItemPerMinute(600, namespace="stream")
_RETRY_AFTER_S = 60
_EXPORT_RETRY_AFTER_S = 600


class RequestLimits:
    """Per user, whatever the address. `sends_per_minute` is what a person may send in one minute."""

    def __init__(self, redis_url: str | None, *, sends_per_minute: int) -> None:
        self._limiter = Limiter(redis_url)
        self._limits: dict[Costly, RateLimitItem] = {
            "send": RateLimitItemPerMinute(sends_per_minute, namespace="send"),
            "export": _EXPORTS,
            "stream": _STREAMS,
        }

    async def count(self, costly: Costly, user_id: UUID) -> None:
        """TooMany at the limit."""
        try:
            allowed = await self._limiter.hit(self._limits[costly], str(user_id))
        except StorageError:
            return
        if not allowed and costly == "export":
            raise TooMany("Very many exports and imports; wait a while.", _EXPORT_RETRY_AFTER_S)
        if not allowed:
            raise TooMany("Too many requests; wait a minute.", _RETRY_AFTER_S)

    async def close(self) -> None:
        await self._limiter.close()
