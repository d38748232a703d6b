"""Why tokens were computed again: one row for each cause, backend and model, from the turns that missed something."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Result, Row, func, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from app.cache_outcomes import FAULTS, ON_PURPOSE, Outcome
from app.models import Conversation, Turn
from app.reports.measures import COUNTED, MISSED, ROUNDED, chosen
from app.reports.overview import Problem, ProblemKey, Problems, Selection

NEW_AFTER: Final = timedelta(days=7)
ONGOING_FOR: Final = timedelta(hours=1)
_ONGOING_TURNS: Final = 10
_KEY: Final = (Turn.outcome, Turn.backend, Turn.model)
_SHORTFALL: Final = func.coalesce(Turn.shortfall_tokens, 0)


async def problems(session: AsyncSession, selection: Selection, now: datetime) -> Problems:
    """`now` is what a problem goes on at; it may be long after the selection."""
    found = await _grouped(session, selection)
    faults = [each for each in found if each.key.outcome in FAULTS]
    known = await _seen_before(session, selection)
    latest = await _latest(session, {(each.key.backend, each.key.model) for each in faults})
    marked = [
        replace(
            each,
            is_new=selection.since is not None and each.key not in known,
            ongoing=each.key in latest or each.last_seen > now - ONGOING_FOR,
        )
        for each in faults
    ]
    return Problems(tuple(marked), _of(found, ON_PURPOSE), _of(found, ROUNDED))


def _of(found: Sequence[Problem], outcomes: Collection[Outcome]) -> tuple[Problem, ...]:
    return tuple(each for each in found if each.key.outcome in outcomes)


async def _grouped(session: AsyncSession, selection: Selection) -> list[Problem]:
    """Most lost first, neither new nor ongoing yet."""
    query = (
        select(
            *_KEY,
            func.count(),
            func.count(Turn.conversation_id.distinct()),
            func.count(Conversation.owner_id.distinct()),
            func.sum(_SHORTFALL),
            func.min(Turn.created_at),
            func.max(Turn.created_at),
            func.max(_SHORTFALL),
        )
        .outerjoin(Conversation, Conversation.id == Turn.conversation_id)
        .where(MISSED, *chosen(selection))
        .group_by(*_KEY)
    )
    rows = (await session.execute(query)).all()
    worst = await _worst(session, selection, {_key(*row[:3]): row[-1] for row in rows})
    found = []
    for outcome, backend, model, turns, conversations, users, lost, first, last, most in rows:
        key = _key(outcome, backend, model)
        found.append(
            Problem(
                key=key,
                turns=turns,
                conversations=conversations,
                users=users,
                lost_tokens=int(lost),
                first_seen=first,
                last_seen=last,
                is_new=False,
                ongoing=False,
                worst_turn_id=worst[key].id,
                worst_conversation_id=worst[key].conversation_id,
                worst_lost_tokens=most,
                diverged_where=worst[key].diverged_where,
                diverged_offset=worst[key].diverged_offset,
                diverged_kind=worst[key].diverged_kind,
            )
        )
    return sorted(found, key=lambda each: (-each.lost_tokens, -each.turns, str(each.key)))


async def _worst(
    session: AsyncSession, selection: Selection, most: Mapping[ProblemKey, int]
) -> dict[ProblemKey, Row[Any]]:
    """The turn of each problem that lost most, the latest of several.

    A database that puts the turns of each problem into order sorts all of them for one.
    """
    query = select(*_KEY, _SHORTFALL, Turn.created_at, Turn.id)
    query = query.where(MISSED, *chosen(selection), _SHORTFALL.in_(set(most.values())))
    latest: dict[ProblemKey, tuple[datetime, UUID]] = {}
    for outcome, backend, model, shortfall, at, turn_id in await session.execute(query):
        key = _key(outcome, backend, model)
        if shortfall == most[key]:
            latest[key] = max(latest.get(key, (at, turn_id)), (at, turn_id))
    shown = select(Turn.id, Turn.conversation_id, Turn.diverged_where, Turn.diverged_offset, Turn.diverged_kind)
    ids = {turn_id: key for key, (_, turn_id) in latest.items()}
    rows: Result[Any] = await session.execute(shown.where(Turn.id.in_(ids)))
    return {ids[row.id]: row for row in rows}


async def _seen_before(session: AsyncSession, selection: Selection) -> set[ProblemKey]:
    if selection.since is None:
        return set()
    before = replace(selection, since=selection.since - NEW_AFTER, until=selection.since)
    query = select(*_KEY).where(MISSED, *chosen(before)).distinct()
    return {_key(*row) for row in await session.execute(query)}


async def _latest(session: AsyncSession, places: Collection[tuple[str | None, str | None]]) -> set[ProblemKey]:
    """What the last turns of each backend and model were, whoever sent them."""
    each = [
        select(*_KEY)
        .where(COUNTED, _equal(Turn.backend, backend), _equal(Turn.model, model))
        .order_by(Turn.created_at.desc())
        .limit(_ONGOING_TURNS)
        .subquery()
        for backend, model in places
    ]
    if not each:
        return set()
    rows = await session.execute(union_all(*(select(turns) for turns in each)))
    return {_key(*row) for row in rows if row[0] is not None}


def _key(outcome: Any, backend: str | None, model: str | None) -> ProblemKey:
    return ProblemKey(Outcome(outcome), backend, model)


def _equal(column: ColumnElement[Any] | Any, value: str | None) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = column.is_(None) if value is None else column == value
    return condition
