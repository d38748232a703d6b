"""What one person's own turns have used: sums in tokens, each with the number of turns that reported the figure.

Turns of deleted conversations count: their numbers were kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy import Select, func, select

from app.database import Database
from app.models import Conversation, Turn

_PROMPT = Turn.input_tokens + Turn.cache_creation_input_tokens + Turn.cache_read_input_tokens
_COMPUTED = Turn.input_tokens + Turn.cache_creation_input_tokens
_FIGURES = (_PROMPT, Turn.cache_read_input_tokens, _COMPUTED, Turn.output_tokens)


@dataclass(frozen=True, slots=True)
class Used:
    """`tokens` is None where no turn has reported the figure; `covered` turns are in the sum."""

    tokens: int | None
    covered: int


@dataclass(frozen=True, slots=True)
class Usage:
    turns: int
    prompt: Used
    cached: Used
    computed: Used
    written: Used


@dataclass(frozen=True, slots=True)
class UsedDay:
    day: date
    usage: Usage


class Usages:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def total(self, owner_id: UUID) -> Usage:
        sums = [function(figure) for figure in _FIGURES for function in (func.sum, func.count)]
        query = _of(select(func.count(Turn.id), *sums), owner_id)
        async with self._database.read() as session:
            row = (await session.execute(query)).one()
        return Usage(row[0], *(_used(row[place], row[place + 1]) for place in range(1, len(row), 2)))

    async def by_day(self, owner_id: UUID, last: date, days: int, zone: ZoneInfo) -> Sequence[UsedDay]:
        """The `days` days up to `last` as the zone's calendar has them, oldest first; idle ones too."""
        wanted = [last - timedelta(days=back) for back in reversed(range(days))]
        since = datetime.combine(wanted[0], time(), zone)
        query = _of(select(Turn.created_at, *_FIGURES), owner_id).where(Turn.created_at >= since)
        by_day: dict[date, list[Sequence[int | None]]] = {day: [] for day in wanted}
        async with self._database.read() as session:
            for at, *figures in await session.execute(query):
                day = at.astimezone(zone).date()
                if day in by_day:
                    by_day[day].append(figures)
        return [UsedDay(day, _summed(turns)) for day, turns in by_day.items()]


def _of(query: Select[*tuple[Any, ...]], owner_id: UUID) -> Select[*tuple[Any, ...]]:
    """Probes are the app's own questions, and nobody's turns; imported turns were used up elsewhere."""
    owned = query.join(Conversation, Conversation.id == Turn.conversation_id)
    return owned.where(Conversation.owner_id == owner_id, Turn.purpose == "chat", Turn.imported_at.is_(None))


def _summed(turns: Sequence[Sequence[int | None]]) -> Usage:
    sums = []
    for place in range(len(_FIGURES)):
        known = [value for turn in turns if (value := turn[place]) is not None]
        sums.append(_used(sum(known), len(known)))
    return Usage(len(turns), *sums)


def _used(tokens: int | None, covered: int) -> Used:
    # A database's sum of integers may be a decimal.
    return Used(int(tokens), covered) if tokens is not None and covered else Used(None, 0)
