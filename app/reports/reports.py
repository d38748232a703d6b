"""The operator's tables, read from SQL. Whoever calls this has checked that the viewer is an operator."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, func, or_, select

from app.conversations.ownership import owned_conversation
from app.database import Database
from app.errors import NotFound
from app.models import Conversation, Turn, User
from app.reports.conversation_turns import conversation_report, turn_report
from app.reports.figures import ConversationReport, ConversationRow, TurnReport


class Reports:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def conversation(self, conversation: UUID | str) -> ConversationReport:
        """By id or reference; deleted ones too, for their numbers stay. NotFound."""
        async with self._database.read() as session:
            return await conversation_report(session, _named(conversation))

    async def own_conversation(self, owner_id: UUID, conversation_id: UUID) -> ConversationReport:
        """NotFound for a foreign and for a deleted one."""
        async with self._database.read() as session:
            await owned_conversation(session, owner_id, conversation_id)
            return await conversation_report(session, Conversation.id == conversation_id)

    async def turn(self, turn_id: UUID) -> TurnReport:
        """NotFound."""
        async with self._database.read() as session:
            return await turn_report(session, turn_id)

    async def own_turn(self, owner_id: UUID, conversation_id: UUID, turn_id: UUID) -> TurnReport:
        """NotFound, as for a conversation, and for a turn of another one."""
        async with self._database.read() as session:
            await owned_conversation(session, owner_id, conversation_id)
            report = await turn_report(session, turn_id)
        if report.conversation_id != conversation_id:
            raise NotFound
        return report

    async def title(self, conversation_id: UUID) -> str:
        """The one text here, for readers who may read texts. Empty for a deleted conversation; NotFound."""
        async with self._database.read() as session:
            title = await session.scalar(select(Conversation.title).where(Conversation.id == conversation_id))
        if title is None:
            raise NotFound
        return title

    async def conversations(
        self, limit: int = 50, before: UUID | None = None, before_at: datetime | None = None
    ) -> list[ConversationRow]:
        """Latest activity first. `before` and `before_at` are id and `updated_at` of the page before's last row.

        Without `before_at` the page goes on from where that row stands now, which may have moved up since.
        """
        prompt = Turn.input_tokens + Turn.cache_creation_input_tokens + Turn.cache_read_input_tokens
        known = prompt.is_not(None)
        query = (
            select(
                Conversation.id,
                Conversation.reference,
                User.name,
                func.count(Turn.id),
                func.count(prompt),
                func.coalesce(func.sum(prompt), 0),
                func.coalesce(func.sum(case((known, Turn.cache_read_input_tokens))), 0),
                Conversation.updated_at,
            )
            .join(User, User.id == Conversation.owner_id)
            .outerjoin(Turn, and_(Turn.conversation_id == Conversation.id, Turn.imported_at.is_(None)))
            .group_by(Conversation.id, User.name)
            .order_by(Conversation.updated_at.desc(), Conversation.id.desc())
            .limit(limit)
        )
        if before is not None:
            query = query.where(_older_than(before, before_at))
        async with self._database.read() as session:
            return [ConversationRow(*row) for row in await session.execute(query)]


def _older_than(before: UUID, before_at: datetime | None) -> ColumnElement[bool]:
    stands_at = select(Conversation.updated_at).where(Conversation.id == before).scalar_subquery()
    at = stands_at if before_at is None else before_at
    return or_(Conversation.updated_at < at, and_(Conversation.updated_at == at, Conversation.id < before))


def _named(conversation: UUID | str) -> ColumnElement[bool]:
    if isinstance(conversation, UUID):
        return Conversation.id == conversation
    return Conversation.reference == conversation
