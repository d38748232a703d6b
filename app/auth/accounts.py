"""Proving who one is: signing in with a name and a password, and giving the password again."""

from uuid import UUID

from sqlalchemy import select

from app.auth.account import Account
from app.auth.audit import record
from app.auth.names import name_key
from app.auth.passwords import Passwords
from app.auth.sign_in_limits import SignInLimits
from app.clock import Clock
from app.database import Database
from app.errors import InvalidInput, NotFound
from app.models import User


class Accounts:
    def __init__(self, database: Database, clock: Clock, passwords: Passwords, limits: SignInLimits) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._limits = limits

    async def sign_in(self, name: str, password: str, remote: str) -> Account:
        """InvalidInput in the same words for a wrong name, a wrong password and a disabled account.

        TooMany after too many tries for the name from `remote`, for any name from there, or, at a far higher
        limit, for the name from anywhere.
        """
        key = name_key(name)
        await self._limits.count_try(key, remote)
        async with self._database.read() as session:
            user = await session.scalar(select(User).where(User.name_key == key))
        stored = user.password_hash if user and user.disabled_at is None else None
        if not await self._passwords.matches(stored, password) or user is None:
            await self._audit("sign_in_failed", user, remote)
            raise InvalidInput("password", "The name or the password is wrong.")
        await self._limits.forgive(key, remote)
        await self._audit("sign_in", user, remote)
        return Account.of(user)

    async def confirm(self, account_id: UUID, password: str, remote: str, field: str = "password") -> str:
        """The hash that the right password of a signed-in person has just matched.

        InvalidInput(`field`) for a wrong one, TooMany as for signing in: a session that was left open is no
        place to guess passwords.
        """
        async with self._database.read() as session:
            user = await session.get(User, account_id)
        if user is None or user.disabled_at is not None:
            raise NotFound
        await self._limits.count_try(user.name_key, remote)
        if not await self._passwords.matches(user.password_hash, password):
            await self._audit("password_check_failed", user, remote)
            raise InvalidInput(field, "Your password is wrong.")
        await self._limits.forgive(user.name_key, remote)
        return user.password_hash

    async def _audit(self, action: str, user: User | None, remote: str) -> None:
        """A typed name that is nobody's is not kept: people type passwords there."""
        async with self._database.write() as session:
            record(session, self._clock(), user.id if user else None, action, remote=remote)
