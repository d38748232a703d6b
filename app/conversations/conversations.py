"""What an owner can do with conversations, but for sending: list, read, rename, change, delete."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.conversations.figures import TurnFigures
from app.conversations.listing import PAGE_LENGTH, Shelf, conversations_on
from app.conversations.live import LiveTurns
from app.conversations.ownership import live_turn_id, owned_conversation, system_prompt_of
from app.conversations.paging import PageMark
from app.conversations.tree import Node, active_path, load_nodes
from app.conversations.views import ConversationSummary, ConversationView, MessageView
from app.database import Database
from app.errors import Conflict, InvalidInput, NotFound
from app.models import TURN_IS_LIVE, AuditEntry, Conversation, Message, Submission, SystemPrompt, Turn
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

    async def view(self, owner_id: UUID, conversation_id: UUID) -> ConversationView:
        """The active branch; a live answer has the text of its event log up to `cursor`."""
        async with self._database.read() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id)
            system_prompt = await system_prompt_of(session, conversation)
            nodes = await load_nodes(session, conversation_id)
            figures = await _figures_by_answer(session, conversation_id)
        path = active_path(nodes, conversation.active_leaf_id)
        return ConversationView(
            id=conversation.id,
            reference=conversation.reference,
            title=conversation.title,
            system_prompt=system_prompt,
            messages=tuple(self._message(node, figures.get(node.id)) for node in path),
            live_turn_id=next((turn.id for turn in figures.values() if turn.live), None),
            updated_at=conversation.updated_at,
        )

    def _message(self, node: Node, turn: TurnFigures | None) -> MessageView:
        live = self._live.snapshot(turn.id) if turn and turn.live else None
        text, cursor = (live.text, live.cursor) if live else (node.text, 0)
        return MessageView(node.id, node.role, text, node.context_note, turn, cursor)

    async def set_system_prompt(self, owner_id: UUID, conversation_id: UUID, text: str) -> None:
        """Affects later turns only. Conflict while a turn is live."""
        text = self.checked_system_prompt(text)
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            live = await live_turn_id(session, conversation_id)
            if live is not None:
                raise Conflict("An answer is being written; stop it first.", live)
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

    async def delete(self, owner_id: UUID, conversation_id: UUID, *, expired_at: datetime | None = None) -> None:
        """Removes all text and all hashes of it; the turns stay as numbers. A live turn ends.

        With `expired_at` only a temporary conversation whose time is over by then; NotFound for another one.
        """
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            if expired_at is not None and not _is_over(conversation, expired_at):
                raise NotFound
            turn_ids = list(await session.scalars(select(Turn.id).where(_turns_of(conversation_id))))
            await self._end_live(session, conversation_id)
            await _remove_content(session, conversation)
            now = self._clock()
            conversation.deleted_at = conversation.updated_at = now
            action = "conversation_expired" if expired_at else "conversation_deleted"
            session.add(AuditEntry(at=now, actor_id=owner_id, action=action, subject=conversation.reference))
        for turn_id in turn_ids:
            await self._live.forget(turn_id)

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


async def _figures_by_answer(session: AsyncSession, conversation_id: UUID) -> dict[UUID, TurnFigures]:
    """The newest turn of each answer."""
    query = select(Turn).where(_turns_of(conversation_id)).order_by(Turn.id)
    turns = await session.scalars(query)
    return {turn.assistant_message_id: TurnFigures.of(turn) for turn in turns if turn.assistant_message_id}


async def _remove_content(session: AsyncSession, conversation: Conversation) -> None:
    turns = _turns_of(conversation.id)
    used = select(Turn.system_prompt_id).where(turns, Turn.system_prompt_id.is_not(None))
    prompts = {*await session.scalars(used), conversation.system_prompt_id}
    await session.execute(
        delete(Submission).where(Submission.turn_id.in_(select(Turn.id).where(turns).scalar_subquery()))
    )
    await session.execute(
        update(Turn)
        .where(turns)
        .values(
            user_message_id=None,
            assistant_message_id=None,
            history_start_message_id=None,
            system_prompt_id=None,
            request_sha256=None,
            backend_message_id=None,
            stop_sequence=None,
            error_message=None,
            diverged_where=None,
            diverged_offset=None,
        )
    )
    conversation.title = ""
    conversation.salt = None
    conversation.system_prompt_id = None
    conversation.active_leaf_id = None
    await session.flush()
    await session.execute(delete(Message).where(Message.conversation_id == conversation.id))
    await session.execute(delete(SystemPrompt).where(SystemPrompt.id.in_(prompts - {None})))


def _turns_of(conversation_id: UUID) -> ColumnElement[bool]:
    return Turn.conversation_id == conversation_id
