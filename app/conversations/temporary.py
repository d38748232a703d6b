"""Temporary conversations: they go a day after their last turn, or when their owner signs out."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, case, literal, select

from app.clock import Clock
from app.conversations.conversations import Conversations
from app.database import Database
from app.database.types import UtcDateTime
from app.errors import NotFound
from app.models import Conversation

KEPT_FOR: Final = timedelta(hours=24)


def prolonged(now: datetime) -> ColumnElement[datetime | None]:
    """The new `expires_at` of a conversation in which something happened; the others still have none."""
    return case((Conversation.expires_at.is_not(None), literal(now + KEPT_FOR, UtcDateTime)))


class Temporary:
    """Deletes as the owner would."""

    def __init__(self, database: Database, clock: Clock, conversations: Conversations) -> None:
        self._database = database
        self._clock = clock
        self._conversations = conversations

    async def end_of(self, owner_id: UUID) -> None:
        """All of the owner's, at once."""
        await self._delete(Conversation.owner_id == owner_id, None)

    async def sweep(self) -> None:
        """Those whose time is over."""
        now = self._clock()
        await self._delete(Conversation.expires_at <= now, now)

    async def _delete(self, which: ColumnElement[bool], expired_at: datetime | None) -> None:
        query = select(Conversation.owner_id, Conversation.id).where(
            Conversation.expires_at.is_not(None), Conversation.deleted_at.is_(None), which
        )
        async with self._database.read() as session:
            found = (await session.execute(query)).all()
        for owner_id, conversation_id in found:
            with suppress(NotFound):  # Somebody else was faster.
                await self._conversations.delete(owner_id, conversation_id, expired_at=expired_at)
