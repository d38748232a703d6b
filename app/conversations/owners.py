"""What happens to all conversations of one owner at once, in the caller's one transaction.

The caller has locked the owner's row, so no send can come between.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.conversations import remove_content
from app.conversations.live import GoneTurn
from app.models import TURN_IS_LIVE, Conversation, Submission, Turn


async def ask_turns_to_stop(session: AsyncSession, owner_id: UUID, now: datetime) -> list[UUID]:
    """The owner's live turns, oldest first. Whoever runs them ends them, at the latest at its next checkpoint."""
    live = await _locked_live_turns(session, owner_id)
    await session.execute(
        update(Turn)
        .where(Turn.id.in_(live), Turn.stop_requested_at.is_(None))
        .values(stop_requested_at=now)
        .execution_options(synchronize_session=False)
    )
    return live


async def remove_all_content(session: AsyncSession, owner_id: UUID, now: datetime) -> list[GoneTurn]:
    """Empties every conversation as deleting it does, temporary and archived ones too, and ends what is live.

    The turns stay, as numbers. They are returned for those who may still hold their text.
    """
    query = select(Conversation).where(Conversation.owner_id == owner_id, Conversation.deleted_at.is_(None))
    conversations = list(await session.scalars(query.order_by(Conversation.id).with_for_update(key_share=True)))
    live = await _locked_live_turns(session, owner_id)
    await session.execute(update(Turn).where(Turn.id.in_(live)).values(status="stopped", finished_at=now))
    gone: list[GoneTurn] = []
    for conversation in conversations:
        gone += await remove_content(session, conversation)
        conversation.deleted_at = conversation.updated_at = now
    await session.execute(delete(Submission).where(Submission.owner_id == owner_id))
    return gone


async def _locked_live_turns(session: AsyncSession, owner_id: UUID) -> list[UUID]:
    """In the order of their ids, as checkpoints write them, so that the two cannot block in a circle."""
    query = select(Turn.id).where(_of(owner_id), TURN_IS_LIVE).order_by(Turn.id).with_for_update(key_share=True)
    return list(await session.scalars(query))


def _of(owner_id: UUID) -> ColumnElement[bool]:
    owned = select(Conversation.id).where(Conversation.owner_id == owner_id).scalar_subquery()
    return Turn.conversation_id.in_(owned)
