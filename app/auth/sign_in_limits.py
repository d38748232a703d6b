"""How often somebody may try to sign in.

Wrong tries at a name from one address shut out that address alone. The limit of the name itself is more than
one address can reach, so that it takes many addresses to keep an owner out.
"""

from typing import Final

from limits import RateLimitItemPerHour, RateLimitItemPerMinute
from limits.errors import StorageError

from app.auth.limiter import Limiter
from app.errors import TooMany

_PER_PAIR: Final = RateLimitItemPerMinute(10, 5, namespace="sign-in-pair")
_PER_NAME: Final = RateLimitItemPerHour(200, namespace="sign-in-name")
_PER_REMOTE: Final = RateLimitItemPerMinute(30, 5, namespace="sign-in-remote")
_SIGN_UPS: Final = RateLimitItemPerMinute(30, 5, namespace="sign-up-remote")
_RETRY_AFTER_S = 60


class SignInLimits:
    """Where tries cannot be counted, because Redis is away, none is allowed."""

    def __init__(self, redis_url: str | None) -> None:
        self._limiter = Limiter(redis_url)

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

    async def count_sign_up(self, remote: str) -> None:
        """Of accounts that invites make. TooMany as above."""
        try:
            allowed = await self._limiter.hit(_SIGN_UPS, remote)
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
        await self._limiter.close()
