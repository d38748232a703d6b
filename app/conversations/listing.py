"""Which conversations a list shows, page by page. Temporary and deleted ones are in none."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.paging import NEWEST_FIRST, PageMark
from app.conversations.views import ConversationSummary
from app.models import TURN_IS_LIVE, Conversation, Turn

PAGE_LENGTH = 40
Shelf: TypeAlias = Literal["recent", "pinned", "archived"]

RUNNING: Final = exists().where(Turn.conversation_id == Conversation.id, TURN_IS_LIVE)
# An answer has ended since the owner last opened the conversation.
UNREAD: Final = exists().where(
    Turn.conversation_id == Conversation.id,
    Turn.finished_at > func.coalesce(Conversation.seen_at, Conversation.created_at),
    Turn.imported_at.is_(None),
)
_ON_SHELF: Final[dict[Shelf, tuple[ColumnElement[bool], ...]]] = {
    "recent": (Conversation.archived_at.is_(None), Conversation.pinned_at.is_(None)),
    "pinned": (Conversation.archived_at.is_(None), Conversation.pinned_at.is_not(None)),
    "archived": (Conversation.archived_at.is_not(None),),
}


async def conversations_on(
    session: AsyncSession, owner_id: UUID, shelf: Shelf, before: PageMark | None, limit: int
) -> Sequence[ConversationSummary]:
    """Newest activity first, at most `limit`."""
    query = (
        select(
            Conversation.id,
            Conversation.reference,
            Conversation.title,
            Conversation.updated_at,
            RUNNING,
            UNREAD,
            Conversation.pinned_at.is_not(None),
            Conversation.archived_at.is_not(None),
        )
        .where(
            Conversation.owner_id == owner_id,
            Conversation.deleted_at.is_(None),
            Conversation.expires_at.is_(None),
            *_ON_SHELF[shelf],
        )
        .order_by(*NEWEST_FIRST)
        .limit(limit)
    )
    if before is not None:
        query = query.where(before.older)
    return [ConversationSummary(*row) for row in await session.execute(query)]
