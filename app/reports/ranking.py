"""Conversations of a selection in the order of one figure, worst first, page by page."""

from collections.abc import Sequence
from typing import Any, Final, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Uuid, and_, case, func, null, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.cache_outcomes import Outcome
from app.database.epoch import EpochSeconds
from app.models import Conversation, Turn, User
from app.reports.marks import RankMark
from app.reports.measures import ACHIEVED, CACHED, EXPECTED, LOST, MISSED, PROMPT, as_sum, chosen, sum_of
from app.reports.overview import Neighbours, RankedConversation, RankingPage, Rate, Selection

RankingSort = Literal["lost", "reuse", "turns", "first_token", "recent"]
# An expression, because SQLite would go through the whole table in the order of a column that has an index.
_CONVERSATION: Final[ColumnElement[UUID]] = func.coalesce(Turn.conversation_id, null())
_MILLION: Final = 1_000_000
_MISSED: Final = func.sum(EXPECTED) - func.sum(ACHIEVED)
# Whole numbers, of which the highest comes first: a mark holds them exactly. What has no such figure comes last.
_KEYS: Final[dict[RankingSort, ColumnElement[Any]]] = {
    "lost": func.coalesce(func.sum(LOST), 0),
    "reuse": case((func.sum(EXPECTED) > 0, _MISSED * _MILLION // func.sum(EXPECTED)), else_=-1),
    "turns": func.count(),
    "first_token": func.coalesce(func.max(Turn.time_to_first_token_ms), -1),
    "recent": EpochSeconds(func.max(Turn.created_at)),
}


async def ranking(
    session: AsyncSession, selection: Selection, sort: RankingSort, after: RankMark | None, limit: int
) -> RankingPage:
    order = await _order(session, selection, sort, after, limit + 1)
    ids = [id_ for id_, _ in order[:limit]]
    figures = await _figures(session, selection, ids)
    causes = await _main_causes(session, selection, ids)
    mark = RankMark(order[limit - 1][1], ids[-1]) if len(order) > limit else None
    return RankingPage(tuple(_ranked(figures[id_], causes.get(id_)) for id_ in ids), mark)


async def _order(
    session: AsyncSession, selection: Selection, sort: RankingSort, after: RankMark | None, limit: int
) -> list[tuple[UUID, int]]:
    """Ids with their keys. Those that lost most are among the few turns with faults, so these are looked at first."""
    if sort == "lost":
        losing = _ids(selection, sort, after, limit).where(MISSED, Turn.fault.is_(True)).having(_KEYS[sort] > 0)
        found = (await session.execute(losing)).all()
        if len(found) == limit:
            return [(row[0], int(row[1])) for row in found]
    found = (await session.execute(_ids(selection, sort, after, limit))).all()
    return [(row[0], int(row[1])) for row in found]


def _ids(selection: Selection, sort: RankingSort, after: RankMark | None, limit: int) -> Select[Any]:
    key = _KEYS[sort]
    query = (
        select(_CONVERSATION, key.label("key"))
        .where(*chosen(selection))
        .group_by(_CONVERSATION)
        .having(_CONVERSATION.is_not(None))
        .order_by(key.desc(), _CONVERSATION.desc())
        .limit(limit)
    )
    if after is not None:
        query = query.having(or_(key < after.key, and_(key == after.key, after.id > _CONVERSATION)))
    return query


async def neighbours(
    session: AsyncSession, selection: Selection, sort: RankingSort, conversation_id: UUID
) -> Neighbours:
    """None on both sides of a conversation that has no turn in the selection."""
    ranked = (
        select(Turn.conversation_id, _KEYS[sort].label("key"))
        .where(Turn.conversation_id.is_not(None), *chosen(selection))
        .group_by(Turn.conversation_id)
        .subquery()
    )
    order = (ranked.c.key.desc(), ranked.c.conversation_id.desc())
    beside = select(
        ranked.c.conversation_id,
        func.lag(ranked.c.conversation_id, type_=Uuid()).over(order_by=order).label("previous"),
        func.lead(ranked.c.conversation_id, type_=Uuid()).over(order_by=order).label("next"),
    ).subquery()
    query = select(beside.c.previous, beside.c.next).where(beside.c.conversation_id == conversation_id)
    found = (await session.execute(query)).one_or_none()
    return Neighbours(None, None) if found is None else Neighbours(found[0], found[1])


async def _figures(session: AsyncSession, selection: Selection, ids: Sequence[UUID]) -> dict[UUID, Any]:
    sums = (
        select(
            Turn.conversation_id,
            func.count().label("turns"),
            *_named("prompt", sum_of(PROMPT)),
            *_named("cached", sum_of(CACHED)),
            *_named("lost", sum_of(LOST)),
            *_named("achieved", (func.sum(ACHIEVED),)),
            *_named("expected", sum_of(EXPECTED)),
            func.max(Turn.time_to_first_token_ms).label("slowest"),
            func.max(Turn.created_at).label("last_turn_at"),
        )
        .where(Turn.conversation_id.in_(ids), *chosen(selection))
        .group_by(Turn.conversation_id)
        .subquery()
    )
    query = (
        select(sums, Conversation.reference, Conversation.deleted_at, User.name)
        .join(Conversation, Conversation.id == sums.c.conversation_id)
        .join(User, User.id == Conversation.owner_id)
    )
    return {row.conversation_id: row for row in await session.execute(query)}


def _named(name: str, columns: Sequence[ColumnElement[Any]]) -> list[ColumnElement[Any]]:
    return [column.label(name + suffix) for column, suffix in zip(columns, ("", "_turns"), strict=False)]


def _ranked(row: Any, cause: Outcome | None) -> RankedConversation:
    return RankedConversation(
        id=row.conversation_id,
        reference=row.reference,
        owner_name=row.name,
        turns=row.turns,
        prompt=as_sum(row.prompt, row.prompt_turns),
        cached=as_sum(row.cached, row.cached_turns),
        reuse=Rate(int(row.achieved or 0), int(row.expected or 0), row.expected_turns),
        lost=as_sum(row.lost, row.lost_turns),
        main_cause=cause,
        slowest_first_token_ms=row.slowest,
        last_turn_at=row.last_turn_at,
        deleted=row.deleted_at is not None,
    )


async def _main_causes(session: AsyncSession, selection: Selection, ids: Sequence[UUID]) -> dict[UUID, Outcome]:
    """By conversation, the fault that lost most tokens there."""
    query = (
        select(Turn.conversation_id, Turn.outcome)
        .where(Turn.conversation_id.in_(ids), Turn.fault.is_(True), LOST > 0, *chosen(selection))
        .group_by(Turn.conversation_id, Turn.outcome)
        .order_by(func.sum(LOST), Turn.outcome.desc())
    )
    # The last one of each conversation stays.
    return {id_: Outcome(word) for id_, word in await session.execute(query) if id_ is not None and word is not None}
