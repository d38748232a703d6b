"""What goes after so many days without being touched: conversations, and the figures of deleted ones.

Pinned conversations stay, whatever their age: somebody wants to keep them.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import Select, case, delete, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.conversations.conversations import Conversations
from app.conversations.lifecycle import ages, untouched_since
from app.database import Database
from app.errors import NotFound
from app.models import TURN_IS_LIVE, Conversation, Message, Turn
from app.summed_days import forget_days_of

MOST_CONVERSATIONS: Final = 500
MOST_TURNS: Final = 5_000
_HAS_TURNS: Final = exists().where(Turn.conversation_id == Conversation.id)
_HAS_MESSAGES: Final = exists().where(Message.conversation_id == Conversation.id)


@dataclass(frozen=True, slots=True)
class Due:
    """What one of the two settings removes: `now` with the next sweeps, and `next_at` the first of the others.

    `days` is None where it is off; `next_at` where nothing else is old enough to count down.
    """

    days: int | None
    now: int = 0
    next_at: datetime | None = None


class Retention:
    """`days` is for conversations, `turn_days` for the figures of deleted ones; None keeps them for ever.

    `keep_counts` is told of turns in the transaction that removes them.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        conversations: Conversations,
        *,
        days: int | None,
        turn_days: int | None,
        keep_counts: Callable[[AsyncSession, Sequence[UUID]], Awaitable[None]],
    ) -> None:
        self._database = database
        self._clock = clock
        self._conversations = conversations
        self._days = days
        self._turn_days = turn_days
        self._keep_counts = keep_counts

    async def sweep(self) -> None:
        """At most so many at a time, so that the process can end between two sweeps."""
        now = self._clock()
        if self._days is not None:
            await self._remove_conversations(now - timedelta(days=self._days))
        if self._turn_days is not None:
            await self._remove_turns(now - timedelta(days=self._turn_days))

    async def due_conversations(self) -> Due:
        if self._days is None:
            return Due(None)
        limit = self._clock() - timedelta(days=self._days)
        touched = case(
            (Conversation.seen_at > Conversation.updated_at, Conversation.seen_at), else_=Conversation.updated_at
        )
        counted = select(func.count()).select_from(Conversation).where(untouched_since(limit))
        ageing = select(func.min(touched)).where(ages(), touched >= limit)
        return await self._due(self._days, counted, ageing)

    async def due_turns(self) -> Due:
        if self._turn_days is None:
            return Due(None)
        limit = self._clock() - timedelta(days=self._turn_days)
        without_text = (Turn.assistant_message_id.is_(None), ~TURN_IS_LIVE)
        counted = select(func.count()).select_from(Turn).where(*without_text, Turn.created_at < limit)
        ageing = select(func.min(Turn.created_at)).where(*without_text, Turn.created_at >= limit)
        return await self._due(self._turn_days, counted, ageing)

    async def _due(self, days: int, counted: Select[int], ageing: Select[datetime]) -> Due:
        async with self._database.read() as session:
            now, oldest = await session.scalar(counted) or 0, await session.scalar(ageing)
        return Due(days, now, oldest + timedelta(days=days) if oldest else None)

    async def _remove_conversations(self, limit: datetime) -> None:
        """One by one as their owners would, so the figures of their turns stay."""
        old = select(Conversation.owner_id, Conversation.id).where(untouched_since(limit)).order_by(Conversation.id)
        async with self._database.read() as session:
            found = (await session.execute(old.limit(MOST_CONVERSATIONS))).all()
        for owner_id, conversation_id in found:
            with suppress(NotFound):  # Somebody has touched it, or another process was faster.
                await self._conversations.delete(owner_id, conversation_id, untouched_since=limit)

    async def _remove_turns(self, limit: datetime) -> None:
        """Those whose answer is gone, and what is left of conversations without them.

        What is sent next in a conversation that is there builds on its turns.
        """
        old = (
            select(Turn.id, Turn.created_at)
            .where(Turn.created_at < limit, Turn.assistant_message_id.is_(None), ~TURN_IS_LIVE)
            .order_by(Turn.id)
            .limit(MOST_TURNS)
            .with_for_update(skip_locked=True)
        )
        async with self._database.write() as session:
            accepted = {row.id: row.created_at for row in await session.execute(old)}
            await self._keep_counts(session, list(accepted))
            await session.execute(delete(Turn).where(Turn.id.in_(accepted)))
            await forget_days_of(session, accepted.values())
            await session.execute(
                delete(Conversation).where(Conversation.deleted_at < limit, ~_HAS_TURNS, ~_HAS_MESSAGES)
            )
