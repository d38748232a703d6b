"""The first account, made once, by whoever can read the console."""

import hmac
import secrets

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.account import Account, NewAccount
from app.auth.audit import record
from app.auth.new_users import checked_user
from app.auth.passwords import Passwords
from app.clock import Clock
from app.database import Database
from app.errors import InvalidInput, NotAllowed
from app.models import StoredSetting, User


class Setup:
    """`fixed_code` replaces the random code that every process makes for itself."""

    def __init__(self, database: Database, clock: Clock, passwords: Passwords, fixed_code: str | None) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._code = fixed_code or secrets.token_urlsafe(12)

    async def needed(self) -> bool:
        async with self._database.read() as session:
            return not await _has_users(session)

    async def code(self) -> str:
        return self._code

    async def create_first_account(
        self,
        code: str,
        name: str,
        password: str,
        locale: str | None = None,
        time_zone: str | None = None,
        remote: str | None = None,
    ) -> Account:
        """An operator. NotAllowed once there is an account: of two at the same time, one wins.

        InvalidInput("code" | "name" | "password").
        """
        if not hmac.compare_digest(code.strip().encode("utf-8", "surrogatepass"), self._code.encode()):
            raise InvalidInput("code", "This is not the code that the console shows.")
        new = NewAccount(name, password, locale, time_zone)
        user = await checked_user(new, "operator", self._passwords, self._clock())
        try:
            await self._store(user, remote)
        except IntegrityError:
            raise NotAllowed("The first account was made by somebody else just now.") from None
        return Account.of(user)

    async def _store(self, user: User, remote: str | None) -> None:
        async with self._database.write() as session:
            if await _has_users(session):
                raise NotAllowed("There is an account already.")
            # Of two transactions that both saw no user, the second one fails on this key.
            session.add(StoredSetting(key="first_account", value=user.created_at.isoformat()))
            session.add(user)
            await session.flush()
            record(session, user.created_at, user.id, "setup", subject=user.id, remote=remote)


async def _has_users(session: AsyncSession) -> bool:
    return bool(await session.scalar(select(func.count()).select_from(User)))
