"""What an owner can do with single messages of a tree: choose a branch, read a text, delete from here on."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete, or_, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.conversations.blanking import blank_turns
from app.conversations.live import LiveTurns
from app.conversations.ownership import owned_conversation
from app.conversations.tree import Node, active_path, leaf_below, load_nodes, remember_path, subtree
from app.database import Database
from app.errors import NotFound
from app.models import TURN_IS_LIVE, AuditEntry, Conversation, Message, Turn


class Branches:
    """Every call takes the owner first; NotFound for missing and foreign messages alike."""

    def __init__(self, database: Database, clock: Clock, live: LiveTurns) -> None:
        self._database = database
        self._clock = clock
        self._live = live

    async def text(self, owner_id: UUID, conversation_id: UUID, message_id: UUID) -> str:
        """The message's own words, without its context note."""
        async with self._database.read() as session:
            nodes = await _owned_nodes(session, owner_id, conversation_id)
        return _found(nodes, message_id).text

    async def select(self, owner_id: UUID, conversation_id: UUID, message_id: UUID) -> None:
        """The branch through this message becomes the active one, down to the leaf that was last active there."""
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            nodes = await load_nodes(session, conversation_id)
            leaf = leaf_below(nodes, _found(nodes, message_id).id)
            conversation.active_leaf_id = leaf
            await remember_path(session, active_path(nodes, leaf))

    async def count_below(self, owner_id: UUID, conversation_id: UUID, message_id: UUID) -> int:
        """How many messages deleting this one takes, itself included."""
        async with self._database.read() as session:
            nodes = await _owned_nodes(session, owner_id, conversation_id)
        return len(subtree(nodes, _found(nodes, message_id).id))

    async def count_all(self, owner_id: UUID, conversation_id: UUID) -> int:
        """How many messages the conversation has, on all branches."""
        async with self._database.read() as session:
            return len(await _owned_nodes(session, owner_id, conversation_id))

    async def delete(self, owner_id: UUID, conversation_id: UUID, message_id: UUID) -> None:
        """This message and all below it; their turns stay as numbers, and a live one of them ends."""
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            nodes = await load_nodes(session, conversation_id)
            gone = subtree(nodes, _found(nodes, message_id).id)
            turns = or_(Turn.user_message_id.in_(gone), Turn.assistant_message_id.in_(gone))
            ending = update(Turn).where(turns, TURN_IS_LIVE)
            await session.execute(ending.values(status="stopped", finished_at=self._clock()))
            gone_turns = await blank_turns(session, turns)
            _leave(conversation, nodes, message_id, gone)
            await session.flush()
            forget = update(Message).where(Message.id == _found(nodes, message_id).parent_id)
            await session.execute(forget.values(selected_child_id=None))
            await session.execute(delete(Message).where(Message.id.in_(gone)))
            now = self._clock()
            conversation.updated_at = now
            session.add(
                AuditEntry(at=now, actor_id=owner_id, action="messages_deleted", subject=conversation.reference)
            )
        await self._live.forget(gone_turns)


async def _owned_nodes(session: AsyncSession, owner_id: UUID, conversation_id: UUID) -> list[Node]:
    await owned_conversation(session, owner_id, conversation_id)
    return await load_nodes(session, conversation_id)


def _found(nodes: Sequence[Node], message_id: UUID) -> Node:
    node = next((node for node in nodes if node.id == message_id), None)
    if node is None:
        raise NotFound
    return node


def _leave(conversation: Conversation, nodes: Sequence[Node], message_id: UUID, gone: set[UUID]) -> None:
    """Where the active branch is deleted, the one beside it is shown, else what stands above."""
    if conversation.active_leaf_id not in gone:
        return
    left = [node for node in nodes if node.id not in gone]
    parent_id = _found(nodes, message_id).parent_id
    stays = any(node.id == parent_id for node in left)
    conversation.active_leaf_id = leaf_below(left, parent_id) if stays and parent_id is not None else None
