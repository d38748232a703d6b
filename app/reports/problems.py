"""Why tokens were computed again: one row for each cause, backend and model, from the turns that missed something."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, func, select
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
    worst = await _worst(session, selection)
    query = (
        select(
            *_KEY,
            func.count(),
            func.count(Turn.conversation_id.distinct()),
            func.count(Conversation.owner_id.distinct()),
            func.sum(_SHORTFALL),
            func.min(Turn.created_at),
            func.max(Turn.created_at),
        )
        .outerjoin(Conversation, Conversation.id == Turn.conversation_id)
        .where(MISSED, *chosen(selection))
        .group_by(*_KEY)
    )
    found = []
    for outcome, backend, model, turns, conversations, users, lost, first, last in await session.execute(query):
        key = _key(outcome, backend, model)
        turn_id, conversation_id, most, where, offset, kind = worst[key]
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
                worst_turn_id=turn_id,
                worst_conversation_id=conversation_id,
                worst_lost_tokens=most,
                diverged_where=where,
                diverged_offset=offset,
                diverged_kind=kind,
            )
        )
    return sorted(found, key=lambda each: (-each.lost_tokens, -each.turns, str(each.key)))


async def _worst(session: AsyncSession, selection: Selection) -> dict[ProblemKey, tuple[Any, ...]]:
    """The turn of each problem that lost most, the latest of several."""
    order = (_SHORTFALL.desc(), Turn.created_at.desc(), Turn.id.desc())
    place = func.row_number().over(partition_by=_KEY, order_by=order).label("place")
    ranked = select(Turn.id, place).where(MISSED, *chosen(selection)).subquery()
    query = select(
        *_KEY,
        Turn.id,
        Turn.conversation_id,
        _SHORTFALL,
        Turn.diverged_where,
        Turn.diverged_offset,
        Turn.diverged_kind,
    ).join(ranked, and_(ranked.c.id == Turn.id, ranked.c.place == 1))
    return {
        _key(outcome, backend, model): tuple(rest) for outcome, backend, model, *rest in await session.execute(query)
    }


async def _seen_before(session: AsyncSession, selection: Selection) -> set[ProblemKey]:
    if selection.since is None:
        return set()
    before = replace(selection, since=selection.since - NEW_AFTER, until=selection.since)
    query = select(*_KEY).where(MISSED, *chosen(before)).distinct()
    return {_key(*row) for row in await session.execute(query)}


async def _latest(session: AsyncSession, places: Collection[tuple[str | None, str | None]]) -> set[ProblemKey]:
    """What the last turns of each backend and model were, whoever sent them."""
    found: set[ProblemKey] = set()
    for backend, model in places:
        query = (
            select(Turn.outcome)
            .where(COUNTED, _equal(Turn.backend, backend), _equal(Turn.model, model))
            .order_by(Turn.created_at.desc())
            .limit(_ONGOING_TURNS)
        )
        words = await session.scalars(query)
        found.update(_key(word, backend, model) for word in words if word is not None)
    return found


def _key(outcome: Any, backend: str | None, model: str | None) -> ProblemKey:
    return ProblemKey(Outcome(outcome), backend, model)


def _equal(column: ColumnElement[Any] | Any, value: str | None) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = column.is_(None) if value is None else column == value
    return condition
