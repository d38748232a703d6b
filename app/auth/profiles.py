"""What people change about their own account: password, language, zone, notes, system prompt; and its end."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.accounts import Accounts
from app.auth.audit import record
from app.auth.names import name_key
from app.auth.operators import check_not_the_last, locked_operators
from app.auth.passwords import Passwords, check_password
from app.auth.sessions import end_sessions_of
from app.clock import Clock
from app.context_note import find_zone
from app.conversations import LiveTurns
from app.conversations.owners import remove_all_content
from app.database import Database
from app.errors import InvalidInput, NotFound
from app.models import User
from app.text import clean_user_text

NO_PASSWORD = ""  # No hash, so no password matches it. Only accounts that were deleted have it.


@dataclass(frozen=True, slots=True)
class Profile:
    """`locale` and `time_zone` are None where the browser decides."""

    name: str
    locale: str | None
    time_zone: str | None
    default_system_prompt: str
    context_notes: bool
    created_at: datetime


class Profiles:
    """Every call takes the owner first."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        passwords: Passwords,
        accounts: Accounts,
        live: LiveTurns,
        *,
        max_characters: int,
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._accounts = accounts
        self._live = live
        self._max_characters = max_characters

    async def view(self, owner_id: UUID) -> Profile:
        async with self._database.read() as session:
            user = await session.get_one(User, owner_id)
        return Profile(
            name=user.name,
            locale=user.locale,
            time_zone=user.time_zone,
            default_system_prompt=user.default_system_prompt or "",
            context_notes=user.context_notes,
            created_at=user.created_at,
        )

    async def change(
        self,
        owner_id: UUID,
        *,
        locale: str | None,
        time_zone: str | None,
        default_system_prompt: str,
        context_notes: bool,
    ) -> None:
        """System prompt and notes count for what is started or sent later. InvalidInput by field."""
        if time_zone is not None and find_zone(time_zone) is None:
            raise InvalidInput("time_zone", "There is no such time zone; Asia/Seoul is one, for example.")
        text = clean_user_text(default_system_prompt)
        if len(text) > self._max_characters:
            raise InvalidInput("default_system_prompt", f"At most {self._max_characters} characters are possible.")
        changed = update(User).where(User.id == owner_id)
        changed = changed.values(locale=locale, time_zone=time_zone, context_notes=context_notes)
        async with self._database.write() as session:
            await session.execute(changed.values(default_system_prompt=text or None))

    async def change_password(self, owner_id: UUID, current: str, new: str, remote: str) -> None:
        """Ends every session, also the one that asks: its browser needs a new token.

        InvalidInput("current_password" | "new_password"), TooMany.
        """
        stored = await self._accounts.confirm(owner_id, current, remote, "current_password")
        async with self._database.read() as session:
            user = await session.get_one(User, owner_id)
        check_password(new, user.name, "new_password")
        hashed = await self._passwords.hash(new)
        async with self._database.write() as session:
            user = await _locked(session, owner_id)
            if user.password_hash != stored:
                raise InvalidInput("current_password", "Your password was changed just now.")
            user.password_hash = hashed
            await end_sessions_of(session, owner_id)
            record(session, self._clock(), owner_id, "password_changed", remote=remote)

    async def delete(self, owner_id: UUID, password: str, remote: str) -> None:
        """All content goes at once, sessions and live answers end, the name is free again.

        The row stays without a name and without a password, because conversations, whose turns are kept as
        numbers, point to it. InvalidInput("password"), TooMany; Conflict for the last operator.
        """
        await self._accounts.confirm(owner_id, password, remote)
        await self._delete(owner_id, owner_id, remote)

    async def delete_other(self, operator_id: UUID, user_id: UUID, password: str, remote: str) -> None:
        """As `delete`, of another account, also of a disabled one; `password` is the operator's own."""
        await self._accounts.confirm(operator_id, password, remote)
        await self._delete(operator_id, user_id, remote)

    async def _delete(self, actor_id: UUID, user_id: UUID, remote: str) -> None:
        now = self._clock()
        async with self._database.write() as session:
            operators = await locked_operators(session)
            if actor_id not in operators | {user_id}:
                raise NotFound
            user = await _locked(session, user_id, disabled=actor_id != user_id)
            check_not_the_last(operators, user_id)
            gone = await remove_all_content(session, user_id, now)
            await end_sessions_of(session, user_id)
            await _blank(session, user, now)
            record(session, now, actor_id, "account_deleted", subject=user_id, remote=remote)
        await self._live.forget(gone)


async def _locked(session: AsyncSession, user_id: UUID, *, disabled: bool = False) -> User:
    """NotFound for a disabled account unless `disabled`, and for one that was deleted."""
    user = await session.scalar(select(User).where(User.id == user_id).with_for_update(key_share=True))
    if user is None or user.password_hash == NO_PASSWORD or (user.disabled_at is not None and not disabled):
        raise NotFound
    return user


async def _blank(session: AsyncSession, user: User, now: datetime) -> None:
    name = f"deleted-{secrets.token_hex(4)}"
    while await session.scalar(select(exists().where(User.name_key == name))):
        name = f"deleted-{secrets.token_hex(4)}"
    user.name, user.name_key = name, name_key(name)
    user.password_hash, user.role, user.disabled_at = NO_PASSWORD, "user", now
    user.locale = user.time_zone = user.default_system_prompt = None
    user.context_notes = True
