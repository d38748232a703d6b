"""The figures of one turn as SQL expressions, and which turns a selection means. NULL is not reported, never 0.

Along a turn whose prompt was reported: prompt = cached + new + on purpose + lost + rounding.
"""

from typing import Any, Final

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, case, func, literal_column, select

from app.cache_outcomes import FAULTS, ON_PURPOSE, Outcome
from app.models import Conversation, Turn
from app.reports.overview import Selection, Sum

ROUNDED: Final = frozenset({Outcome.BLOCK_ROUNDING, Outcome.UNKNOWN})
# Spelled out, because a database uses a partial index only where it sees the index's own condition.
COUNTED: Final = and_(Turn.purpose == literal_column("'chat'"), Turn.imported_at.is_(None))
MISSED: Final = Turn.outcome.in_([literal_column(f"'{outcome}'") for outcome in sorted(FAULTS | ON_PURPOSE | ROUNDED)])

# NULL as soon as one of its parts is.
PROMPT: Final = Turn.input_tokens + Turn.cache_creation_input_tokens + Turn.cache_read_input_tokens
REPORTED: Final = PROMPT.is_not(None)
CACHED: Final = case((REPORTED, Turn.cache_read_input_tokens))
COMPUTED: Final = case((REPORTED, Turn.input_tokens + Turn.cache_creation_input_tokens))


def _missed(condition: ColumnElement[bool]) -> ColumnElement[Any]:
    """0 where the turn has another outcome; NULL where it has none yet, or how much it missed is not known."""
    named = and_(REPORTED, Turn.outcome.is_not(None))
    # A turn that has missed nothing is looked at no further: most have not.
    return case(
        (Turn.shortfall_tokens == 0, case((named, 0))), (and_(named, condition), Turn.shortfall_tokens), (named, 0)
    )


LOST: Final = _missed(Turn.fault.is_(True))
ON_PURPOSE_TOKENS: Final = _missed(and_(Turn.fault.is_not(True), Turn.outcome.in_(sorted(ON_PURPOSE))))
ROUNDING: Final = _missed(and_(Turn.fault.is_not(True), Turn.outcome.in_(sorted(ROUNDED))))

# What could be expected of a prompt, whose last token is always computed.
_READABLE = case((Turn.expected_read_tokens < PROMPT, Turn.expected_read_tokens), else_=PROMPT - 1)
EXPECTED: Final = case((and_(Turn.expected_read_tokens.is_not(None), PROMPT > 0), _READABLE))
ACHIEVED: Final = case((Turn.cache_read_input_tokens > EXPECTED, EXPECTED), (EXPECTED.is_not(None), CACHED))


def chosen(selection: Selection) -> list[ColumnElement[bool]]:
    """The conditions of a query of turns; turns of deleted conversations still have their owner."""
    conditions = [COUNTED, Turn.created_at < selection.until]
    if selection.since is not None:
        conditions.append(Turn.created_at >= selection.since)
    if selection.model is not None:
        conditions.append(Turn.model == selection.model)
    if selection.backend is not None:
        conditions.append(Turn.backend == selection.backend)
    if selection.owner_id is not None:
        owned = select(Conversation.id).where(Conversation.owner_id == selection.owner_id)
        conditions.append(Turn.conversation_id.in_(owned))
    return conditions


def sum_of(figure: SQLColumnExpression[Any]) -> tuple[ColumnElement[Any], ColumnElement[int]]:
    return func.sum(figure), func.count(figure)


def as_sum(tokens: Any, turns: int) -> Sum:
    """A database's sum of integers may be a decimal, and is NULL without turns."""
    return Sum(int(tokens or 0), turns)
