"""The operator's tables, read from SQL. Whoever calls this has checked that the viewer is an operator."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select

from app.conversations import TurnFigures
from app.database import Database
from app.errors import NotFound
from app.models import Conversation, Message, Turn, User
from app.reports.figures import ConversationReport, TurnRow


class Reports:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def conversation(self, conversation: UUID | str) -> ConversationReport:
        """By id or reference; deleted ones too, for their numbers stay. NotFound."""
        query = (
            select(Conversation.id, Conversation.reference, User.name)
            .join(User, User.id == Conversation.owner_id)
            .where(_named(conversation))
        )
        async with self._database.read() as session:
            found = (await session.execute(query)).one_or_none()
            if found is None:
                raise NotFound
            turns = list(await session.scalars(_turns_in_order(found[0])))
        models = [turn.model for turn in turns if turn.model is not None]
        return ConversationReport(
            id=found[0],
            reference=found[1],
            owner_name=found[2],
            model=models[-1] if models else None,
            turns=_rows(turns),
        )


def _named(conversation: UUID | str) -> ColumnElement[bool]:
    if isinstance(conversation, UUID):
        return Conversation.id == conversation
    return Conversation.reference == conversation


def _turns_in_order(conversation_id: UUID) -> Select[Turn]:
    """By the order of their messages; without messages, after a deletion, by age."""
    return (
        select(Turn)
        .outerjoin(Message, Message.id == Turn.assistant_message_id)
        .where(Turn.conversation_id == conversation_id)
        .order_by(Message.seq, Turn.id)
    )


def _rows(turns: Sequence[Turn]) -> tuple[TurnRow, ...]:
    numbers = {turn.id: number for number, turn in enumerate(turns, start=1)}
    rows = []
    for turn, previous in zip(turns, [None, *turns], strict=False):
        figures = TurnFigures.of(turn)
        idle = None
        if previous is not None and previous.finished_at is not None:
            idle = max(0.0, (turn.created_at - previous.finished_at).total_seconds())
        base = numbers.get(turn.base_turn_id) if turn.base_turn_id else None
        rows.append(TurnRow(numbers[turn.id], figures, figures.reported.kv_tokens_at_end, base, idle))
    return tuple(rows)
