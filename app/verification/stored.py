"""One conversation as SQL holds it: all that the requests of its turns can be built from again."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app import prompt
from app.conversations.tree import Node, load_nodes
from app.models import Conversation, SystemPrompt, Turn


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """The turns are in the order in which they were accepted. `scope` is the name of the owner's cache."""

    conversation: Conversation
    nodes: Mapping[UUID, Node]
    turns: tuple[Turn, ...]
    system_prompts: Mapping[UUID, str]
    scope: str

    @property
    def salt(self) -> bytes:
        return self.conversation.salt or b""


async def load_stored(session: AsyncSession, conversation_id: UUID, secret: bytes) -> StoredConversation:
    """`secret` names the owners' cache scopes. The conversation comes last: it tells if its other rows were deleted
    in between."""
    turns = list(await session.scalars(select(Turn).where(Turn.conversation_id == conversation_id).order_by(Turn.id)))
    nodes = await load_nodes(session, conversation_id)
    used = {turn.system_prompt_id for turn in turns} - {None}
    prompts = await session.execute(select(SystemPrompt.id, SystemPrompt.text).where(SystemPrompt.id.in_(used)))
    system_prompts = {row[0]: row[1] for row in prompts}
    conversation = await session.get_one(Conversation, conversation_id)
    return StoredConversation(
        conversation=conversation,
        nodes={node.id: node for node in nodes},
        turns=tuple(turns),
        system_prompts=system_prompts,
        scope=prompt.user_scope(secret, conversation.owner_id),
    )
