"""The turns of a selection, newest first, page by page; and the errors among them."""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, false, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.cache_outcomes import Group, Outcome
from app.conversations.figures import outcome_of
from app.conversations.paging import MomentMark
from app.models import Conversation, Turn, User
from app.reports.measures import CACHED, LOST, PROMPT, chosen
from app.reports.overview import ErrorCount, ListedTurn, Selection, TurnPage

_COLUMNS: Final = (
    Turn.id,
    Turn.conversation_id,
    Conversation.reference,
    User.name,
    Turn.kind,
    Turn.status,
    Turn.outcome,
    Turn.backend,
    Turn.model,
    PROMPT,
    CACHED,
    Turn.expected_read_tokens,
    func.coalesce(Turn.expected_is_minimum, false()),
    Turn.shortfall_tokens,
    LOST,
    Turn.time_to_first_token_ms,
    Turn.created_at,
)
_OUTCOME: Final = 6


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """What the list of turns is narrowed to on top of the selection; None is no limit."""

    outcome: Outcome | None = None
    group: Group | None = None
    status: str | None = None
    error_type: str | None = None

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = []
        if self.outcome is not None:
            conditions.append(_is_one_of([self.outcome]))
        if self.group is not None:
            conditions.append(_is_one_of([outcome for outcome in Outcome if outcome.group is self.group]))
        if self.status is not None:
            conditions.append(Turn.status == self.status)
        if self.error_type is not None:
            conditions.append(Turn.error_type == self.error_type)
        return conditions


async def turns(
    session: AsyncSession, selection: Selection, narrowed: TurnFilter, after: MomentMark | None, limit: int
) -> TurnPage:
    query = _newest_first(selection, narrowed).limit(limit + 1)
    if after is not None:
        # The first condition alone is what an index can begin at.
        behind = (Turn.created_at < after.at) | (Turn.id < after.id)
        query = query.where(and_(Turn.created_at <= after.at, behind))
    rows = [_listed(row) for row in await session.execute(query)]
    shown = tuple(rows[:limit])
    mark = MomentMark(shown[-1].created_at, shown[-1].id) if len(rows) > limit else None
    return TurnPage(shown, mark)


async def errors(session: AsyncSession, selection: Selection) -> tuple[ErrorCount, ...]:
    """The most frequent first."""
    query = (
        select(Turn.error_type, func.count(), func.max(Turn.created_at))
        .where(Turn.error_type.is_not(None), *chosen(selection))
        .group_by(Turn.error_type)
        .order_by(func.count().desc(), Turn.error_type)
    )
    rows = await session.execute(query)
    return tuple(ErrorCount(kind, turns, last) for kind, turns, last in rows if kind is not None)


def _newest_first(selection: Selection, narrowed: TurnFilter) -> Select[Any]:
    return (
        select(*_COLUMNS)
        .outerjoin(Conversation, Conversation.id == Turn.conversation_id)
        .outerjoin(User, User.id == Conversation.owner_id)
        .where(*chosen(selection), *narrowed.conditions)
        .order_by(Turn.created_at.desc(), Turn.id.desc())
    )


def _listed(row: Any) -> ListedTurn:
    values = list(row)
    values[_OUTCOME] = outcome_of(row.status, row.outcome)
    return ListedTurn(*values)


def _is_one_of(outcomes: list[Outcome]) -> ColumnElement[bool]:
    """A turn has no outcome yet while it is pending."""
    named = Turn.outcome.in_(outcomes)
    return named | Turn.outcome.is_(None) if Outcome.PENDING in outcomes else named
