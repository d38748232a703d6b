"""Argon2id hashes, computed in threads so that the event loop goes on."""

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.auth.guessed_passwords import is_easily_guessed
from app.errors import InvalidInput

SHORTEST = 8
LONGEST = 1024
_AT_ONCE = 2  # A hash takes 64 MiB.


def check_password(password: str, name: str = "", field: str = "password") -> None:
    """InvalidInput unless it has 8 to 1024 characters and is not among the first guesses at an account `name`.

    Which characters it has is nobody's business.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInput(field, f"A password has {SHORTEST} to {LONGEST} characters.")
    if is_easily_guessed(password, name):
        raise InvalidInput(field, "This password is among the first that others would try.")


class Passwords:
    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)
        self._dummy: str | None = None

    async def hash(self, password: str) -> str:
        return await anyio.to_thread.run_sync(self._hasher.hash, _bytes(password), limiter=self._limiter)

    async def matches(self, stored: str | None, password: str) -> bool:
        """False for None, after the same work, so that time does not tell which names exist."""
        if self._dummy is None:
            self._dummy = await self.hash("nobody has this password")
        if len(password) > LONGEST:
            password, stored = "", None
        matches = await anyio.to_thread.run_sync(
            self._verify, stored or self._dummy, _bytes(password), limiter=self._limiter
        )
        return matches and stored is not None

    def _verify(self, stored: str, password: bytes) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False


def _bytes(password: str) -> bytes:
    # A lone surrogate, which a form can be made to send, is no reason to fail.
    return password.encode("utf-8", "surrogatepass")
