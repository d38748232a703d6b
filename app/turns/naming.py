"""Names the cache outcome of turns that have ended, from their rows alone."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app import accounting
from app.cache_outcomes import Evidence, Outcome, is_law_mismatch, name_outcome
from app.models import TURN_IS_LIVE, Turn
from app.settings import Backend
from app.turns.backends import Backends
from app.turns.endings import UNREACHABLE
from app.turns.server_starts import first_seen

# In the words of the index that finds them.
UNNAMED = Turn.outcome.is_(None) & Turn.imported_at.is_(None)


async def name_turns(session: AsyncSession, turns: ColumnElement[bool], backends: Backends) -> None:
    """Only of those that have ended. The names stay: a later look at the same rows would find the same."""
    base = aliased(Turn)
    query = select(Turn, base).outerjoin(base, base.id == Turn.base_turn_id).where(turns, ~TURN_IS_LIVE)
    for turn, before in await session.execute(query.execution_options(populate_existing=True)):
        backend = backends.named(turn.backend)
        evidence = await _evidence(session, turn, before, backend.settings if backend else None)
        outcome = name_outcome(evidence)
        turn.outcome, turn.fault = outcome.value, outcome.is_fault
        turn.law_mismatch = is_law_mismatch(evidence)


async def _evidence(session: AsyncSession, turn: Turn, base: Turn | None, settings: Backend | None) -> Evidence:
    return Evidence(
        live=False,
        sent=turn.error_type != UNREACHABLE and (turn.queued_ms is not None or turn.model is not None),
        reported=accounting.Reported(
            turn.input_tokens,
            turn.cache_creation_input_tokens,
            turn.cache_read_input_tokens,
            turn.output_tokens,
        ),
        expected=accounting.ExpectedRead(turn.expected_read_tokens, bool(turn.expected_is_minimum)),
        has_base=base is not None and base.imported_at is None,
        known_cause=Outcome(turn.known_cause) if turn.known_cause else None,
        served_by=await _served_by(session, turn, base) if base else None,
        server_outcome=turn.server_outcome,
        server_expected=turn.server_expected_tokens,
        granularity=settings.reuse_rule.granularity if settings else 1,
        outlived=_outlived(turn, base, settings) if base and settings else False,
    )


async def _served_by(session: AsyncSession, turn: Turn, base: Turn) -> Outcome | None:
    """A server that had answered somebody before the base turn is another one, and not the same one started again."""
    if None in (turn.backend, base.backend):
        return None
    if turn.backend != base.backend:
        return Outcome.OTHER_REPLICA
    if turn.serving_id is None or base.serving_id is None or turn.serving_id == base.serving_id:
        return None
    assert turn.backend is not None
    seen = await first_seen(session, turn.backend, turn.serving_id)
    return Outcome.OTHER_REPLICA if seen is not None and seen < base.created_at else Outcome.RESTARTED


def _outlived(turn: Turn, base: Turn, settings: Backend) -> bool:
    """By the moments when the two were sent, as far as they are known."""
    if settings.cache_lifetime_s is None:
        return False
    return _sent_at(turn) - (base.finished_at or base.created_at) > timedelta(seconds=settings.cache_lifetime_s)


def _sent_at(turn: Turn) -> datetime:
    return turn.created_at + timedelta(milliseconds=turn.queued_ms or 0)
