"""What operators do about other people's accounts. The console may do it too: then nobody is named as the actor."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.account import Account, NewAccount, UserRole, role_of
from app.auth.accounts import Accounts
from app.auth.audit import record
from app.auth.names import name_key
from app.auth.new_users import add_user, checked_user
from app.auth.operators import check_not_the_last, locked_operators
from app.auth.passwords import Passwords, check_password
from app.auth.profiles import NO_PASSWORD
from app.auth.sessions import end_sessions_of
from app.auth.shared_cache import check_another_account
from app.clock import Clock
from app.conversations.owners import ask_turns_to_stop
from app.database import Database
from app.errors import NotFound
from app.models import AuditEntry, Conversation, Turn, User, UserSession

_PASSWORD_BYTES = 15
_SEEN = ("setup", "invite_accepted", "sign_in", "sign_out")


class OwnersTurns(Protocol):
    async def stop_all_of(self, owner_id: UUID) -> None:
        """Ends the live turns of this owner that run in this process."""


@dataclass(frozen=True, slots=True)
class Person:
    """`last_seen_at` is None for somebody who never signed in. `turns` counts those of deleted conversations too."""

    id: UUID
    name: str
    role: UserRole
    created_at: datetime
    last_seen_at: datetime | None
    disabled_at: datetime | None
    turns: int


class People:
    """`operator_id` is who does it, None for the console. Deleted accounts are not found.

    `only_one_account`: caches are not kept apart, so that a second account is refused.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        passwords: Passwords,
        accounts: Accounts,
        turns: OwnersTurns,
        *,
        only_one_account: bool = False,
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._accounts = accounts
        self._turns = turns
        self._only_one = only_one_account

    async def list(self, limit: int = 50, after: UUID | None = None) -> Sequence[Person]:
        """By the time when their accounts were made; `after` is the last person of the page before."""
        query = _everybody().order_by(User.id).limit(limit)
        if after is not None:
            query = query.where(User.id > after)
        async with self._database.read() as session:
            return await _persons(session, list(await session.scalars(query)))

    async def person(self, user_id: UUID) -> Person:
        async with self._database.read() as session:
            users = list(await session.scalars(_everybody().where(User.id == user_id)))
            if not users:
                raise NotFound
            return (await _persons(session, users))[0]

    async def id_of(self, name: str) -> UUID:
        async with self._database.read() as session:
            user_id = await session.scalar(select(User.id).where(User.name_key == name_key(name)))
        if user_id is None:
            raise NotFound(f"There is no account {name}.")
        return user_id

    async def create(self, new: NewAccount, role: UserRole) -> Account:
        """From the console only. InvalidInput("name" | "password"); Conflict where there can be one account only."""
        user = await checked_user(new, role, self._passwords, self._clock())
        async with self._database.write() as session:
            await check_another_account(session, only_one=self._only_one)
            await add_user(session, user)
            record(session, self._clock(), None, "account_made", subject=user.id)
        return Account.of(user)

    async def disable(self, operator_id: UUID | None, user_id: UUID, remote: str | None = None) -> None:
        """Sessions and live answers end; nothing is deleted. Conflict for the last operator."""
        now = self._clock()
        async with self._database.write() as session:
            operators = await _operators_with(session, operator_id)
            user = await _locked(session, user_id)
            check_not_the_last(operators, user_id)
            if user.disabled_at is None:
                user.disabled_at = now
                await end_sessions_of(session, user_id)
                await ask_turns_to_stop(session, user_id, now)
                record(session, now, operator_id, "account_disabled", subject=user_id, remote=remote)
        await self._turns.stop_all_of(user_id)

    async def enable(self, operator_id: UUID | None, user_id: UUID, remote: str | None = None) -> None:
        """Conflict where there can be one account only."""
        async with self._database.write() as session:
            await _operators_with(session, operator_id)
            user = await _locked(session, user_id)
            if user.disabled_at is not None:
                await check_another_account(session, only_one=self._only_one)
                user.disabled_at = None
                # A sign-in that was under way when the account was disabled may have left one.
                await end_sessions_of(session, user_id)
                record(session, self._clock(), operator_id, "account_enabled", subject=user_id, remote=remote)

    async def set_role(self, operator_id: UUID, user_id: UUID, role: UserRole, password: str, remote: str) -> None:
        """Their sessions end, so that no token outlives its rights.

        `password` is the operator's own: InvalidInput("password"), TooMany. Conflict for the last operator.
        """
        await self._accounts.confirm(operator_id, password, remote)
        async with self._database.write() as session:
            operators = await _operators_with(session, operator_id)
            user = await _locked(session, user_id)
            if user.role == role:
                return
            if role == "user":
                check_not_the_last(operators, user_id)
            user.role = role
            await end_sessions_of(session, user_id)
            action = "role_raised" if role == "operator" else "role_lowered"
            record(session, self._clock(), operator_id, action, subject=user_id, remote=remote)

    async def reset_password(self, operator_id: UUID, user_id: UUID, password: str, remote: str) -> str:
        """A new password for them, which is not kept in the clear; their sessions end.

        `password` is the operator's own: InvalidInput("password"), TooMany.
        """
        await self._accounts.confirm(operator_id, password, remote)
        made = secrets.token_urlsafe(_PASSWORD_BYTES)
        await self._set_password(operator_id, user_id, made, remote)
        return made

    async def set_password(self, user_id: UUID, new: str) -> None:
        """From the console only. InvalidInput("password")."""
        check_password(new)
        await self._set_password(None, user_id, new, None)

    async def _set_password(self, operator_id: UUID | None, user_id: UUID, new: str, remote: str | None) -> None:
        hashed = await self._passwords.hash(new)
        async with self._database.write() as session:
            await _operators_with(session, operator_id)
            user = await _locked(session, user_id)
            user.password_hash = hashed
            await end_sessions_of(session, user_id)
            record(session, self._clock(), operator_id, "password_reset", subject=user_id, remote=remote)


def _everybody() -> Select[User]:
    return select(User).where(User.password_hash != NO_PASSWORD)


async def _operators_with(session: AsyncSession, operator_id: UUID | None) -> set[UUID]:
    """The locked operators, where the one who acts is among them still; else NotFound."""
    operators = await locked_operators(session)
    if operator_id is not None and operator_id not in operators:
        raise NotFound
    return operators


async def _locked(session: AsyncSession, user_id: UUID) -> User:
    user = await session.scalar(_everybody().where(User.id == user_id).with_for_update(key_share=True))
    if user is None:
        raise NotFound
    return user


async def _persons(session: AsyncSession, users: Sequence[User]) -> Sequence[Person]:
    ids = [user.id for user in users]
    seen = await _last_seen(session, ids)
    turns = (
        select(Conversation.owner_id, func.count())
        .join(Turn, Turn.conversation_id == Conversation.id)
        .where(Conversation.owner_id.in_(ids))
        .group_by(Conversation.owner_id)
    )
    counts = {row[0]: row[1] for row in await session.execute(turns)}
    return [
        Person(
            user.id,
            user.name,
            role_of(user.role),
            user.created_at,
            seen.get(user.id),
            user.disabled_at,
            counts.get(user.id, 0),
        )
        for user in users
    ]


async def _last_seen(session: AsyncSession, ids: Sequence[UUID]) -> dict[UUID | None, datetime]:
    """By their sessions; of somebody who has none any more, by the audit log."""
    used = select(UserSession.user_id, func.max(UserSession.last_seen_at)).group_by(UserSession.user_id)
    came = select(AuditEntry.actor_id, func.max(AuditEntry.at)).group_by(AuditEntry.actor_id)
    seen: dict[UUID | None, datetime] = {}
    for query in (
        used.where(UserSession.user_id.in_(ids)),
        came.where(AuditEntry.actor_id.in_(ids), AuditEntry.action.in_(_SEEN)),
    ):
        for user_id, at in await session.execute(query):
            seen[user_id] = max(at, seen.get(user_id, at))
    return seen
