"""The figures on top of the overview, plain sums of a selection, and what is live now."""

from collections import Counter
from collections.abc import Iterable

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import TURN_IS_LIVE, Turn
from app.reports.overview import FirstTokenTimes, LiveTurns, Rate, Selection, Sum, Tiles, Totals
from app.reports.percentiles import is_exact, percentiles
from app.reports.sums import STATES, TIMES, Cell, read_cells


async def tiles(session: AsyncSession, selection: Selection) -> Tiles:
    exact = is_exact(selection)
    return tiles_of((await read_cells(session, selection, exact=exact))[None], exact=exact)


def tiles_of(cell: Cell, *, exact: bool) -> Tiles:
    sums, times = cell.sums, cell.times
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


async def totals(session: AsyncSession, selection: Selection, backends: Iterable[str]) -> dict[str, Totals]:
    cells = await read_cells(session, selection, "backends", times=(), exact=False)
    return {backend: _totals_of(cells[backend].sums) for backend in backends}


def _totals_of(sums: Counter[str]) -> Totals:
    return Totals(
        turns=sums["turns"],
        prompt=Sum(sums["prompt"], sums["reported"]),
        cached=Sum(sums["cached"], sums["reported"]),
        computed=Sum(sums["prompt"] - sums["cached"], sums["reported"]),
        output=Sum(sums["output"], sums["output_known"]),
        lost=Sum(sums["lost"], sums["lost_known"]),
        on_purpose=Sum(sums["on_purpose"], sums["on_purpose_known"]),
        rounding=Sum(sums["rounding"], sums["rounding_known"]),
    )


async def live_turns(session: AsyncSession) -> LiveTurns:
    # They are few; with one more condition SQLite would look for them among all turns.
    query = select(Turn.status).where(TURN_IS_LIVE, func.coalesce(Turn.purpose, "") == "chat")
    states = list(await session.scalars(query))
    return LiveTurns(states.count("running"), states.count("queued"))
