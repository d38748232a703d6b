"""Sums ended days once, by half hours, backends and models: long reports then need not read their turns."""

from datetime import date
from typing import Any, Final

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.database import Database
from app.models import SummedDay, Turn, TurnSums
from app.reports.measures import COUNTED
from app.reports.sums import DAY, HALF_HOURS, SUMS_OF_ENDED, TEXTS_OF_TIMES, TIMES, midnight
from app.reports.time_histograms import encode
from app.reports.turn_counters import SETTLING
from app.summed_days import one_after_the_other

MOST_DAYS: Final = 10
_PLACE: Final = (
    HALF_HOURS.number_of(Turn.created_at).label("in_slot"),
    func.coalesce(Turn.backend, "").label("on_backend"),
    func.coalesce(Turn.model, "").label("with_model"),
)


class DaySums:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def sweep(self) -> None:
        """At most so many at a time, each in its own transaction, so that the process can end between two sweeps."""
        async with self._database.read() as session:
            due = await _due(session, (self._clock() - SETTLING).date())
        for day in due[:MOST_DAYS]:
            async with self._database.write() as session:
                await _store(session, day)


async def _due(session: AsyncSession, end: date) -> list[date]:
    """Days before this one that are not summed, from that of the first turn on; oldest first.

    Days of turns that are still to end, or to be named, have to wait.
    """
    counted = select(Turn.created_at).where(COUNTED)
    first = await session.scalar(counted.order_by(Turn.created_at).limit(1))
    if first is None:
        return []
    summed = set(await session.scalars(select(SummedDay.day)))
    waiting = {at.date() for at in await session.scalars(counted.where(Turn.outcome.is_(None)))}
    days = (first.date() + DAY * number for number in range((end - first.date()).days))
    return [day for day in days if day not in summed | waiting]


async def _store(session: AsyncSession, day: date) -> None:
    await one_after_the_other(session)
    if await session.get(SummedDay, day) is not None:
        return  # Another process was faster.
    session.add(SummedDay(day=day))
    await session.flush()
    turns = (COUNTED, Turn.created_at >= midnight(day), Turn.created_at < midnight(day) + DAY)
    sums = select(*_PLACE, *SUMS_OF_ENDED.values(), *TEXTS_OF_TIMES.values()).where(*turns)
    rows: list[dict[str, Any]] = []
    for slot, backend, model, *values in await session.execute(sums.group_by(*(column.name for column in _PLACE))):
        key = {"day": day, "start": HALF_HOURS.start(slot), "backend": backend, "model": model}
        named = {name: int(value or 0) for name, value in zip(SUMS_OF_ENDED, values, strict=False)}
        texts = zip(TIMES, values[len(SUMS_OF_ENDED) :], strict=True)
        rows.append({**key, **named, **{f"{name}_times": encode(text) if text else "" for name, text in texts}})
    if rows:
        await session.execute(insert(TurnSums), rows)
