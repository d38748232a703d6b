"""The figures on top of the overview, plain sums of a selection, and what is live now."""

from typing import Any

from sqlalchemy import SQLColumnExpression, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import TURN_IS_LIVE, Turn
from app.reports.cells import STATES, TIMES, read_cells
from app.reports.measures import (
    CACHED,
    COMPUTED,
    LOST,
    ON_PURPOSE_TOKENS,
    PROMPT,
    ROUNDING,
    as_sum,
    chosen,
    sum_of,
)
from app.reports.overview import FirstTokenTimes, LiveTurns, Rate, Selection, Sum, Tiles, Totals
from app.reports.percentiles import is_exact, percentiles


async def tiles(session: AsyncSession, selection: Selection) -> Tiles:
    exact = is_exact(selection)
    cells = await read_cells(session, selection, TIMES, exact=exact)
    sums, times = cells[0].sums, cells[0].times
    return Tiles(
        turns=sums["turns"],
        reuse=Rate(sums["achieved"], sums["expected"], sums["expected_known"]),
        lost=Sum(sums["lost"], sums["lost_known"]),
        losing_turns=sums["losing"],
        hits=Rate(sums["hits"], sums["could_miss"], sums["could_miss"]),
        first_token=FirstTokenTimes(**{name: percentiles(times[name], exact=exact) for name in TIMES}),
        by_status={state: sums[state] for state in STATES},
        law_mismatches=sums["law_mismatches"],
    )


async def totals(session: AsyncSession, selection: Selection) -> Totals:
    figures: tuple[SQLColumnExpression[Any], ...] = (
        PROMPT,
        CACHED,
        COMPUTED,
        Turn.output_tokens,
        LOST,
        ON_PURPOSE_TOKENS,
        ROUNDING,
    )
    query = select(func.count(), *(column for figure in figures for column in sum_of(figure)))
    turns, *sums = (await session.execute(query.where(*chosen(selection)))).one()
    return Totals(turns, *(as_sum(sums[place], sums[place + 1]) for place in range(0, len(sums), 2)))


async def live_turns(session: AsyncSession) -> LiveTurns:
    # They are few; with one more condition SQLite would look for them among all turns.
    query = select(Turn.status).where(TURN_IS_LIVE, func.coalesce(Turn.purpose, "") == "chat")
    states = list(await session.scalars(query))
    return LiveTurns(states.count("running"), states.count("queued"))
