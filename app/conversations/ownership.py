"""Finding a conversation for its owner. Everybody else gets NotFound, as for a missing one."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import NotFound
from app.models import TURN_IS_LIVE, Conversation, SystemPrompt, Turn


async def owned_conversation(
    session: AsyncSession, owner_id: UUID, conversation_id: UUID, *, lock: bool = False
) -> Conversation:
    """`lock` keeps other writers off the conversation until the transaction ends.

    Writers take this lock before any other row of the conversation, so they cannot block in a circle.
    """
    query = select(Conversation).where(
        Conversation.id == conversation_id,
        Conversation.owner_id == owner_id,
        Conversation.deleted_at.is_(None),
    )
    if lock:
        query = query.with_for_update(key_share=True)
    conversation = await session.scalar(query)
    if conversation is None:
        raise NotFound
    return conversation


async def live_turn_id(session: AsyncSession, conversation_id: UUID) -> UUID | None:
    query = select(Turn.id).where(Turn.conversation_id == conversation_id, TURN_IS_LIVE)
    return await session.scalar(query)


async def system_prompt_of(session: AsyncSession, conversation: Conversation) -> str:
    if conversation.system_prompt_id is None:
        return ""
    prompt = await session.get(SystemPrompt, conversation.system_prompt_id)
    return prompt.text if prompt else ""
