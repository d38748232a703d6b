"""What an owner can do with conversations, but for sending: list, read, rename, change, delete."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.conversations import lifecycle
from app.conversations.blanking import blank_turns
from app.conversations.figures import TurnFigures
from app.conversations.listing import PAGE_LENGTH, Shelf, conversations_on
from app.conversations.live import BEYOND_LOGS, GoneTurn, LiveTurns
from app.conversations.ownership import live_turn_id, owned_conversation, system_prompt_of
from app.conversations.paging import PageMark
from app.conversations.tree import Node, active_path, branches_of, leaf_below, load_nodes
from app.conversations.views import Branch, ConversationSummary, ConversationView, MessageView
from app.database import Database
from app.errors import Conflict, InvalidInput, NotFound
from app.models import TURN_IS_LIVE, AuditEntry, Conversation, Message, SystemPrompt, Turn
from app.text import clean_user_text, first_words

LONGEST_TITLE = 200


class Conversations:
    """Every call takes the owner first; NotFound for missing and foreign conversations alike."""

    def __init__(self, database: Database, clock: Clock, live: LiveTurns, *, max_characters: int) -> None:
        self._database = database
        self._clock = clock
        self._live = live
        self._max_characters = max_characters

    async def list(
        self, owner_id: UUID, shelf: Shelf = "recent", *, before: PageMark | None = None, limit: int = PAGE_LENGTH
    ) -> list[ConversationSummary]:
        """Newest activity first, at most `limit`; the next page goes on behind the mark `before`."""
        async with self._database.read() as session:
            return [*await conversations_on(session, owner_id, shelf, before, limit)]

    async def view(self, owner_id: UUID, conversation_id: UUID, through: UUID | None = None) -> ConversationView:
        """The active branch, or the one that goes `through` this message; a missing one changes nothing.

        A live answer has the text of its event log up to `cursor`.
        """
        async with self._database.read() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id)
            system_prompt = await system_prompt_of(session, conversation)
            nodes = await load_nodes(session, conversation_id)
            turns = await _turns_by_answer(session, conversation_id)
        leaf = conversation.active_leaf_id
        if through in {node.id for node in nodes}:
            assert through is not None
            leaf = leaf_below(nodes, through)
        branches = branches_of(nodes)
        return ConversationView(
            id=conversation.id,
            reference=conversation.reference,
            title=conversation.title,
            system_prompt=system_prompt,
            messages=tuple(
                [
                    await self._message(node, turns.get(node.id, []), branches.get(node.id))
                    for node in active_path(nodes, leaf)
                ]
            ),
            live_turn_id=next((turns_[-1].id for turns_ in turns.values() if turns_[-1].live), None),
            updated_at=conversation.updated_at,
            model=conversation.model,
        )

    async def _message(self, node: Node, turns: Sequence[TurnFigures], branch: Branch | None) -> MessageView:
        turn = turns[-1] if turns else None
        text, cursor = node.text, 0
        if turn and turn.live:
            live = await self._live.snapshot(turn.id)
            text, cursor = (live.text, live.cursor) if live else (node.text, BEYOND_LOGS)
            if live and len(text) == (turn.prefill_chars or 0):
                cursor = 0  # Without text of its own yet, the log is read from its start: it tells of the queue.
        parts = 1 + sum(each.kind == "continue" for each in turns)
        return MessageView(node.id, node.role, text, node.context_note, turn, cursor, parts, branch)

    async def set_system_prompt(self, owner_id: UUID, conversation_id: UUID, text: str) -> None:
        """Affects later turns only. Conflict while a turn is live."""
        text = self.checked_system_prompt(text)
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            live = await live_turn_id(session, conversation_id)
            if live is not None:
                raise Conflict("An answer is being written; stop it first.", live)
            conversation.seen_at = self._clock()
            if text != await system_prompt_of(session, conversation):
                conversation.system_prompt_id = await store_system_prompt(session, text)

    def checked_system_prompt(self, text: str) -> str:
        text = clean_user_text(text)
        if len(text) > self._max_characters:
            raise InvalidInput("system_prompt", f"At most {self._max_characters} characters are possible.")
        return text

    async def rename(self, owner_id: UUID, conversation_id: UUID, title: str) -> None:
        """The title becomes one line of plain text."""
        title = first_words(clean_user_text(title), LONGEST_TITLE)
        if not title:
            raise InvalidInput("title", "A title cannot be empty.")
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            conversation.title = title
            conversation.seen_at = self._clock()

    async def delete(
        self,
        owner_id: UUID,
        conversation_id: UUID,
        *,
        expired_at: datetime | None = None,
        untouched_since: datetime | None = None,
    ) -> None:
        """Removes all text and all hashes of it; the turns stay as numbers. A live turn ends.

        With `expired_at` only a temporary conversation whose time is over by then, with `untouched_since` only one
        that nobody has touched since then; NotFound for another one.
        """
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            if expired_at is not None and not _is_over(conversation, expired_at):
                raise NotFound
            if untouched_since is not None and not await _is_untouched(session, conversation_id, untouched_since):
                raise NotFound
            await self._end_live(session, conversation_id)
            gone = await remove_content(session, conversation)
            now = self._clock()
            conversation.deleted_at = conversation.updated_at = now
            action = "conversation_expired" if expired_at else "conversation_deleted"
            if untouched_since is not None:
                action = "conversation_aged_out"
            actor_id = owner_id if untouched_since is None else None
            session.add(AuditEntry(at=now, actor_id=actor_id, action=action, subject=conversation.reference))
        await self._live.forget(gone)

    async def _end_live(self, session: AsyncSession, conversation_id: UUID) -> None:
        await session.execute(
            update(Turn)
            .where(_turns_of(conversation_id), TURN_IS_LIVE)
            .values(status="stopped", finished_at=self._clock())
        )


async def store_system_prompt(session: AsyncSession, text: str) -> UUID | None:
    """A new row, because rows never change; None for an empty prompt."""
    if not text:
        return None
    prompt = SystemPrompt(text=text)
    session.add(prompt)
    await session.flush()
    return prompt.id


def _is_over(conversation: Conversation, now: datetime) -> bool:
    return conversation.expires_at is not None and conversation.expires_at <= now


async def _is_untouched(session: AsyncSession, conversation_id: UUID, limit: datetime) -> bool:
    query = select(Conversation.id).where(Conversation.id == conversation_id, lifecycle.untouched_since(limit))
    return await session.scalar(query) is not None


async def _turns_by_answer(session: AsyncSession, conversation_id: UUID) -> dict[UUID, list[TurnFigures]]:
    """The turns of each answer, oldest first."""
    found: dict[UUID, list[TurnFigures]] = {}
    for turn in await session.scalars(select(Turn).where(_turns_of(conversation_id)).order_by(Turn.id)):
        if turn.assistant_message_id is not None:
            found.setdefault(turn.assistant_message_id, []).append(TurnFigures.of(turn))
    return found


async def remove_content(session: AsyncSession, conversation: Conversation) -> list[GoneTurn]:
    """All text and all hashes of it. What else the row says, and the numbers of its turns, stay."""
    turns = _turns_of(conversation.id)
    used = select(Turn.system_prompt_id).where(turns, Turn.system_prompt_id.is_not(None))
    prompts = {*await session.scalars(used), conversation.system_prompt_id}
    gone = await blank_turns(session, turns)
    await session.execute(update(Turn).where(turns).values(system_prompt_id=None))
    conversation.title = ""
    conversation.pinned_at = conversation.archived_at = None
    conversation.salt = None
    conversation.system_prompt_id = None
    conversation.active_leaf_id = None
    await session.flush()
    await session.execute(delete(Message).where(Message.conversation_id == conversation.id))
    await session.execute(delete(SystemPrompt).where(SystemPrompt.id.in_(prompts - {None})))
    return gone


def _turns_of(conversation_id: UUID) -> ColumnElement[bool]:
    return Turn.conversation_id == conversation_id
