"""The turns of one conversation in their order, each with what the turns around it tell of it. It reads no text."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations import TurnFigures
from app.errors import NotFound
from app.models import Conversation, Message, Turn, User
from app.reports.branches import branches_of
from app.reports.figures import ConversationReport, TurnReport, TurnRow


async def conversation_report(session: AsyncSession, named: ColumnElement[bool]) -> ConversationReport:
    """NotFound."""
    query = (
        select(Conversation.id, Conversation.reference, Conversation.active_leaf_id, Conversation.deleted_at, User.name)
        .join(User, User.id == Conversation.owner_id)
        .where(named)
    )
    found = (await session.execute(query)).one_or_none()
    if found is None:
        raise NotFound
    turns = list(await session.scalars(_turns_in_order(found.id)))
    reached = [turn for turn in turns if turn.model is not None]
    return ConversationReport(
        id=found.id,
        reference=found.reference,
        owner_name=found.name,
        model=reached[-1].model if reached else None,
        turns=rows_of(turns),
        backend=reached[-1].backend if reached else None,
        branches=await branches_of(session, found.id, found.active_leaf_id, turns),
        deleted=found.deleted_at is not None,
    )


async def turn_report(session: AsyncSession, turn_id: UUID) -> TurnReport:
    """NotFound."""
    turn = await session.get(Turn, turn_id)
    if turn is None:
        raise NotFound
    turns, reference, owner_name = [turn], None, None
    if turn.conversation_id is not None:
        turns = list(await session.scalars(_turns_in_order(turn.conversation_id)))
        query = select(Conversation.reference, User.name).join(User, User.id == Conversation.owner_id)
        reference, owner_name = (await session.execute(query.where(Conversation.id == turn.conversation_id))).one()
    rows = rows_of(turns)
    place = next(place for place, row in enumerate(rows) if row.figures.id == turn_id)
    base = rows[place].base_turn_number
    return TurnReport(
        row=rows[place],
        conversation_id=turn.conversation_id,
        reference=reference,
        owner_name=owner_name,
        base=rows[base - 1] if base else None,
        previous_id=rows[place - 1].figures.id if place else None,
        next_id=rows[place + 1].figures.id if place + 1 < len(rows) else None,
        server_outcome=turn.server_outcome,
        server_expected_tokens=turn.server_expected_tokens,
        texts_deleted=turn.conversation_id is not None and turn.user_message_id is None,
    )


def _turns_in_order(conversation_id: UUID) -> Select[Turn]:
    """By the order of their messages; without messages, after a deletion, by age."""
    return (
        select(Turn)
        .outerjoin(Message, Message.id == Turn.assistant_message_id)
        .where(Turn.conversation_id == conversation_id)
        .order_by(Message.seq, Turn.id)
    )


def rows_of(turns: Sequence[Turn]) -> tuple[TurnRow, ...]:
    """`turns` are all of one conversation, in order."""
    numbers = {turn.id: number for number, turn in enumerate(turns, start=1)}
    by_id = {turn.id: turn for turn in turns}
    rows = []
    served: Turn | None = None
    for turn, previous in zip(turns, [None, *turns], strict=False):
        figures = TurnFigures.of(turn)
        base = by_id.get(turn.base_turn_id) if turn.base_turn_id else None
        rows.append(
            TurnRow(
                number=numbers[turn.id],
                figures=figures,
                kv_tokens_at_end=figures.reported.kv_tokens_at_end,
                base_turn_number=numbers[base.id] if base else None,
                idle_before_s=_idle(previous, turn),
                cut=base is not None and base.history_start_message_id != turn.history_start_message_id,
                serving_changed=served is not None and _served_elsewhere(served, turn),
            )
        )
        served = turn if turn.serving_id is not None else served
    return tuple(rows)


def _idle(previous: Turn | None, turn: Turn) -> float | None:
    if previous is None or previous.finished_at is None:
        return None
    return max(0.0, (turn.created_at - previous.finished_at).total_seconds())


def _served_elsewhere(before: Turn, turn: Turn) -> bool:
    return turn.serving_id is not None and turn.serving_id != before.serving_id
