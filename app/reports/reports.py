"""The operator's tables, read from SQL. Whoever calls this has checked that the viewer is an operator."""

from uuid import UUID

from sqlalchemy import ColumnElement, select

from app.conversations.ownership import owned_conversation
from app.database import Database
from app.errors import NotFound
from app.models import Conversation
from app.reports.conversation_turns import conversation_report, turn_report
from app.reports.figures import ConversationReport, TurnReport


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


def _named(conversation: UUID | str) -> ColumnElement[bool]:
    if isinstance(conversation, UUID):
        return Conversation.id == conversation
    return Conversation.reference == conversation
