"""The base turn of a turn: the one whose KV it can reuse, and how much of it that should be."""

from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.accounting import ExpectedRead, expected_read, expected_reread
from app.conversations import TurnFigures, TurnKind
from app.models import Turn
from app.text import is_blank
from app.turns.placement import Placement


async def find_base(session: AsyncSession, kind: TurnKind, placement: Placement) -> tuple[Turn | None, ExpectedRead]:
    """Another answer to a question reads the prompt that the last one had; everything else goes on from an answer."""
    if kind in ("regenerate", "retry"):
        assert placement.asked is not None
        base = await session.scalar(_newest().where(*_same_prompt(placement.asked.id)))
        if base is not None:
            return base, _here(base, expected_reread(TurnFigures.of(base).reported))
    base = await _turn_of(session, _answer_before(kind, placement))
    if base is None:
        return None, expected_read(None)
    figures = TurnFigures.of(base)
    return base, _here(base, expected_read(figures.reported, stop_reason=figures.stop_reason))


def _here(base: Turn, expected: ExpectedRead) -> ExpectedRead:
    """Nothing is promised of a turn that was imported: it was computed elsewhere, or long ago."""
    return expected if base.imported_at is None else ExpectedRead(None, False)


def _answer_before(kind: TurnKind, placement: Placement) -> UUID | None:
    """The nearest answer that is sent again."""
    if kind == "continue" and placement.answer is not None:
        return placement.answer.id
    answers = (node for node in reversed(placement.history) if node.role == "assistant" and not is_blank(node.text))
    return next((node.id for node in answers), None)


async def _turn_of(session: AsyncSession, answer_id: UUID | None) -> Turn | None:
    """The last turn of this answer; one with usage before one without."""
    if answer_id is None:
        return None
    return await session.scalar(_newest().where(Turn.assistant_message_id == answer_id))


def _same_prompt(question_id: UUID) -> tuple[ColumnElement[bool], ...]:
    """Turns whose prompt ended with this question and reached the model. A continued answer has more in its prompt."""
    return (Turn.user_message_id == question_id, Turn.kind != "continue", Turn.backend_message_id.is_not(None))


def _newest() -> Select[Turn]:
    return select(Turn).order_by(Turn.input_tokens.is_(None), Turn.id.desc()).limit(1)
