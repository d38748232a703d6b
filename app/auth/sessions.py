"""Sessions: a random token in the cookie, its hash in the database, revocable at any time."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.account import Account
from app.auth.audit import record
from app.clock import Clock
from app.database import Database
from app.errors import NotFound
from app.models import User, UserSession

_TOKEN_BYTES = 32
_SEEN_STEP = timedelta(minutes=5)  # How exactly the last use is known.


@dataclass(frozen=True, slots=True)
class SessionRow:
    """`current`: the session that asks. What kind of browser it is was never stored."""

    id: UUID
    created_at: datetime
    last_seen_at: datetime
    current: bool


class Sessions:
    def __init__(self, database: Database, clock: Clock, *, idle_days: int, absolute_days: int) -> None:
        self._database = database
        self._clock = clock
        self._idle = timedelta(days=idle_days)
        self._absolute = timedelta(days=absolute_days)

    async def start(self, account_id: UUID, *, replaces: str | None = None) -> str:
        """A new token. It is not stored and cannot be had again; sessions past their end go.

        `replaces` is the token that this browser had before, which is worth nothing from now on.
        """
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now = self._clock()
        async with self._database.write() as session:
            await session.execute(delete(UserSession).where(UserSession.expires_at <= now))
            if replaces is not None:
                await session.execute(delete(UserSession).where(UserSession.token_hash == _hash(replaces)))
            session.add(
                UserSession(
                    token_hash=_hash(token),
                    user_id=account_id,
                    created_at=now,
                    last_seen_at=now,
                    expires_at=now + self._absolute,
                )
            )
        return token

    async def resolve(self, token: str) -> Account | None:
        """None for a token that is unknown, ended, unused for too long, too old, or of a disabled user."""
        now = self._clock()
        query = (
            select(User, UserSession.id, UserSession.last_seen_at)
            .join(UserSession, UserSession.user_id == User.id)
            .where(
                UserSession.token_hash == _hash(token),
                UserSession.expires_at > now,
                UserSession.last_seen_at > now - self._idle,
                User.disabled_at.is_(None),
            )
        )
        async with self._database.read() as session:
            found = (await session.execute(query)).one_or_none()
        if found is None:
            return None
        user, session_id, last_seen_at = found
        if now - last_seen_at >= _SEEN_STEP:
            await self._touch(session_id)
        return Account.of(user)

    async def _touch(self, session_id: UUID) -> None:
        async with self._database.write() as session:
            await session.execute(
                update(UserSession).where(UserSession.id == session_id).values(last_seen_at=self._clock())
            )

    async def list(self, owner_id: UUID, token: str) -> Sequence[SessionRow]:
        """The owner's sessions that still count, last used first; the one of `token` is marked."""
        now = self._clock()
        query = (
            select(UserSession)
            .where(
                UserSession.user_id == owner_id,
                UserSession.expires_at > now,
                UserSession.last_seen_at > now - self._idle,
            )
            .order_by(UserSession.last_seen_at.desc(), UserSession.id.desc())
        )
        current = _hash(token)
        async with self._database.read() as session:
            rows = list(await session.scalars(query))
        return [SessionRow(row.id, row.created_at, row.last_seen_at, row.token_hash == current) for row in rows]

    async def end(self, token: str, remote: str | None = None) -> None:
        """Signs out; nothing happens for an unknown token."""
        mine = UserSession.token_hash == _hash(token)
        async with self._database.write() as session:
            user_id = await session.scalar(select(UserSession.user_id).where(mine))
            if user_id is not None:
                await session.execute(delete(UserSession).where(mine))
                record(session, self._clock(), user_id, "sign_out", remote=remote)

    async def end_one(self, owner_id: UUID, session_id: UUID, remote: str | None = None) -> None:
        """NotFound for a session that is not the owner's or has gone."""
        async with self._database.write() as session:
            row = await session.get(UserSession, session_id)
            if row is None or row.user_id != owner_id:
                raise NotFound
            await session.delete(row)
            record(session, self._clock(), owner_id, "session_ended", remote=remote)

    async def end_all(self, owner_id: UUID, remote: str | None = None) -> None:
        """Signs out everywhere, here too."""
        async with self._database.write() as session:
            await end_sessions_of(session, owner_id)
            record(session, self._clock(), owner_id, "sessions_ended", remote=remote)

    def form_token(self, token: str) -> str:
        """For hidden fields: proves that a form came from a page of this session."""
        return hmac.new(token.encode("utf-8", "surrogatepass"), b"form token", hashlib.sha256).hexdigest()

    def check_form_token(self, token: str, form_token: str) -> bool:
        given = form_token.encode("utf-8", "surrogatepass")
        return hmac.compare_digest(self.form_token(token).encode(), given)


async def end_sessions_of(session: AsyncSession, user_id: UUID) -> None:
    """All of them, in the caller's transaction."""
    await session.execute(delete(UserSession).where(UserSession.user_id == user_id))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
