"""Invites: how people get an account where nobody can sign up. A link works once, until it ends or is taken back."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, CursorResult, delete, exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.account import Account, NewAccount, UserRole, role_of
from app.auth.accounts import Accounts
from app.auth.audit import record
from app.auth.new_users import add_user, checked_user
from app.auth.operators import check_operator
from app.auth.passwords import Passwords
from app.auth.shared_cache import check_another_account
from app.auth.sign_in_limits import SignInLimits
from app.clock import Clock
from app.database import Database
from app.errors import InvalidInput, NotFound
from app.models import Invite, User

LONGEST_DAYS = 30
_CODE_BYTES = 32


@dataclass(frozen=True, slots=True)
class InviteRow:
    """`used_by` is the name of the account that it has made; the link itself cannot be shown again."""

    id: UUID
    role: UserRole
    expires_at: datetime
    expired: bool
    used_by: str | None


class Invites:
    """`only_one_account`: caches are not kept apart, so that an invite could make nothing."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        passwords: Passwords,
        accounts: Accounts,
        limits: SignInLimits,
        *,
        only_one_account: bool = False,
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._accounts = accounts
        self._limits = limits
        self._only_one = only_one_account

    async def create(self, operator_id: UUID, role: UserRole, days: int, password: str, remote: str) -> str:
        """The code of the link, which is not stored and cannot be had again.

        An operator's invite takes the password of the operator who makes it: InvalidInput("password" | "days").
        Conflict where there can be one account only.
        """
        if not 1 <= days <= LONGEST_DAYS:
            raise InvalidInput("days", f"An invite lasts 1 to {LONGEST_DAYS} days.")
        if role == "operator":
            await self._accounts.confirm(operator_id, password, remote)
        code = secrets.token_urlsafe(_CODE_BYTES)
        now = self._clock()
        invite = Invite(token_hash=_hash(code), role=role, expires_at=now + timedelta(days=days))
        async with self._database.write() as session:
            await check_operator(session, operator_id)
            await check_another_account(session, only_one=self._only_one)
            session.add(invite)
            await session.flush()
            record(session, now, operator_id, "invite_made", subject=invite.id, remote=remote)
        return code

    async def list(self) -> Sequence[InviteRow]:
        """Newest first, used ones too."""
        query = select(Invite, User.name).outerjoin(User, User.id == Invite.used_by).order_by(Invite.id.desc())
        now = self._clock()
        async with self._database.read() as session:
            return [
                InviteRow(invite.id, role_of(invite.role), invite.expires_at, invite.expires_at <= now, name)
                for invite, name in await session.execute(query)
            ]

    async def revoke(self, operator_id: UUID, invite_id: UUID, remote: str) -> None:
        """NotFound for one that has gone or was used: its account is there."""
        async with self._database.write() as session:
            await check_operator(session, operator_id)
            unused = delete(Invite).where(Invite.id == invite_id, Invite.used_by.is_(None))
            if not _changed_one(await session.execute(unused)):
                raise NotFound
            record(session, self._clock(), operator_id, "invite_revoked", subject=invite_id, remote=remote)

    async def usable(self, code: str) -> bool:
        async with self._database.read() as session:
            return bool(await session.scalar(select(exists().where(*self._opens(code)))))

    async def accept(self, code: str, new: NewAccount, remote: str) -> Account:
        """The account that the invite makes. Of two uses at the same time one wins.

        NotFound for a code that is unknown, used, revoked or past its end; InvalidInput("name" | "password");
        Conflict where there can be one account only; TooMany after too many tries from `remote`.
        """
        await self._limits.count_sign_up(remote)
        async with self._database.read() as session:
            role = await session.scalar(select(Invite.role).where(*self._opens(code)))
        if role is None:
            raise NotFound
        user = await checked_user(new, role_of(role), self._passwords, self._clock())
        async with self._database.write() as session:
            await check_another_account(session, only_one=self._only_one)
            await self._use(session, code, user)
            record(session, self._clock(), user.id, "invite_accepted", subject=user.id, remote=remote)
        return Account.of(user)

    async def _use(self, session: AsyncSession, code: str, user: User) -> None:
        # The second of two waits here for the first, and then finds the invite used.
        invite_id = await session.scalar(select(Invite.id).where(*self._opens(code)).with_for_update())
        if invite_id is None:
            raise NotFound
        await add_user(session, user)
        await session.execute(update(Invite).where(Invite.id == invite_id).values(used_by=user.id))

    def _opens(self, code: str) -> tuple[ColumnElement[bool], ...]:
        return (Invite.token_hash == _hash(code), Invite.used_by.is_(None), Invite.expires_at > self._clock())


def _changed_one(result: object) -> bool:
    assert isinstance(result, CursorResult)
    return result.rowcount == 1


def _hash(code: str) -> str:
    return hashlib.sha256(code.strip().encode("utf-8", "surrogatepass")).hexdigest()
