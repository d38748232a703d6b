"""Where a conversation stands for its owner: pinned, put away, temporary, seen."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update

from app.clock import Clock
from app.conversations.listing import RUNNING, UNREAD
from app.conversations.ownership import owned_conversation
from app.database import Database
from app.errors import Conflict
from app.models import Conversation

MOST_PINNED = 30


@dataclass(frozen=True, slots=True)
class Standing:
    """`expires_at` is there for a temporary conversation only."""

    pinned: bool
    archived: bool
    expires_at: datetime | None


def ages() -> ColumnElement[bool]:
    """Not running, deleted or pinned; temporary ones have a time of their own."""
    return (
        ~RUNNING
        & Conversation.deleted_at.is_(None)
        & Conversation.pinned_at.is_(None)
        & Conversation.expires_at.is_(None)
    )


def untouched_since(limit: datetime) -> ColumnElement[bool]:
    """Neither written in nor changed since, nor imported, and of those that age at all."""
    return (
        ages()
        & (Conversation.updated_at < limit)
        & (func.coalesce(Conversation.seen_at, Conversation.updated_at) < limit)
    )


class Lifecycle:
    """Every call takes the owner first; NotFound for missing and foreign conversations alike."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def standing(self, owner_id: UUID, conversation_id: UUID) -> Standing:
        async with self._database.read() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id)
        return Standing(
            conversation.pinned_at is not None, conversation.archived_at is not None, conversation.expires_at
        )

    async def pin(self, owner_id: UUID, conversation_id: UUID, pinned: bool) -> None:
        """Conflict for a temporary one, and where very many are pinned already: all of them stand on every page."""
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            if pinned and conversation.expires_at is not None:
                raise Conflict("A temporary conversation is in no list.")
            count = select(func.count()).where(
                Conversation.owner_id == owner_id,
                Conversation.pinned_at.is_not(None),
                Conversation.deleted_at.is_(None),
                Conversation.id != conversation_id,
            )
            if pinned and (await session.scalar(count) or 0) >= MOST_PINNED:
                raise Conflict(f"At most {MOST_PINNED} conversations can be pinned.")
            if pinned:
                conversation.pinned_at = self._clock()
            else:
                _unpin(conversation, self._clock())

    async def archive(self, owner_id: UUID, conversation_id: UUID, archived: bool) -> None:
        """An archived conversation is not pinned any more; it can be read, searched and gone on with as before."""
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            conversation.archived_at = self._clock() if archived else None
            if archived:
                _unpin(conversation, self._clock())

    async def mark_seen(self, owner_id: UUID, conversation_id: UUID) -> None:
        """Writes only where something new was there to be seen."""
        unread = select(UNREAD).where(Conversation.id == conversation_id, Conversation.owner_id == owner_id)
        async with self._database.read() as session:
            if not await session.scalar(unread):
                return
        seen = update(Conversation).where(Conversation.id == conversation_id, Conversation.owner_id == owner_id)
        async with self._database.write() as session:
            await session.execute(seen.values(seen_at=self._clock()))


def _unpin(conversation: Conversation, now: datetime) -> None:
    """What only its pin has kept is not to go as soon as that is taken away."""
    if conversation.pinned_at is not None:
        conversation.pinned_at = None
        conversation.seen_at = now
