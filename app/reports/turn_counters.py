"""What all turns add up to since the first one, for counters that must be the same in every process and never fall."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import anyio
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.database import Database
from app.models import LIVE_STATES, TURN_IS_LIVE, Turn
from app.reports.turn_counts import Counts, TurnGroup, count_turns, removed_counts

SETTLING: Final = timedelta(minutes=10)
"""So long after it was accepted, a turn may still be corrected, or come into sight."""
STEP: Final = timedelta(minutes=5)
LONGEST_COUNT_MS: Final = 120_000
"""The first count of a process goes through all turns."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Of all turns that have ended, the removed ones included; `live` counts the others by their state."""

    ended: Counts
    live: dict[str, int]


class TurnCounters:
    """Counts each turn of the past once, and keeps that in memory; only the newest are counted again each time."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._settled: Counts = {}
        self._settled_until: datetime | None = None
        self._turn = anyio.Lock()

    async def read(self) -> Counted:
        async with self._turn, self._database.read() as session:
            await _take_long(session)
            await self._settle(session)
            recent = await count_turns(session, Turn.created_at >= self._settled_until)
        ended = {group: amounts for group, amounts in recent.items() if group.status not in LIVE_STATES}
        live = Counter(dict.fromkeys(LIVE_STATES, 0))
        for group in recent.keys() - ended.keys():
            live[group.status] += recent[group]["turns"]
        return Counted(_added(self._settled, ended), dict(live))

    async def _settle(self, session: AsyncSession) -> None:
        """Moves the end of the past on, if by a step; it lies before all turns that may change."""
        limit = self._clock() - SETTLING
        # Not min() in SQL: SQLite would walk all turns by their time for it.
        live = await session.scalars(select(Turn.created_at).where(TURN_IS_LIVE))
        until = min([limit, *live])
        if self._settled_until is None:
            removed = await removed_counts(session)
            self._settled = _added(removed, await count_turns(session, Turn.created_at < until))
        elif until >= self._settled_until + STEP:
            passed = (Turn.created_at >= self._settled_until, Turn.created_at < until)
            self._settled = _added(self._settled, await count_turns(session, *passed))
        else:
            return
        self._settled_until = until


async def _take_long(session: AsyncSession) -> None:
    if session.get_bind().dialect.name == "postgresql":
        await session.execute(select(func.set_config("statement_timeout", str(LONGEST_COUNT_MS), True)))


def _added(*parts: Counts) -> Counts:
    total: dict[TurnGroup, Counter[str]] = {}
    for part in parts:
        for group, amounts in part.items():
            total[group] = total.get(group, Counter()) + amounts
    return total
