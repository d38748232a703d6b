"""The figures on top of the overview, and plain sums of a selection."""

from collections import defaultdict
from typing import Final

from sqlalchemy import func, literal_column, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from app.cache_outcomes import Outcome
from app.models import TURN_IS_LIVE, Turn
from app.reports.measures import (
    ACHIEVED,
    CACHED,
    COMPUTED,
    COUNTED,
    EXPECTED,
    LOST,
    ON_PURPOSE_TOKENS,
    PROMPT,
    ROUNDING,
    as_sum,
    chosen,
    sum_of,
)
from app.reports.overview import FirstTokenTimes, LiveTurns, Rate, Selection, Tiles, Totals
from app.reports.percentiles import bucketed, is_exact, percentiles

_TIMES: Final = (Turn.time_to_first_token_ms, Turn.queued_ms, Turn.admission_ms, Turn.prefill_ms)
_STATES: Final = ("queued", "running", "completed", "stopped", "interrupted", "failed")
_COULD_MISS: Final = (
    Turn.outcome.is_not(None) & (Turn.outcome != Outcome.FIRST_TURN) & Turn.shortfall_tokens.is_not(None)
)


async def tiles(session: AsyncSession, selection: Selection) -> Tiles:
    query = select(
        func.count(),
        func.sum(ACHIEVED),
        func.sum(EXPECTED),
        func.count(EXPECTED),
        *sum_of(LOST),
        func.count().filter(LOST > 0),
        func.count().filter(_COULD_MISS & (Turn.shortfall_tokens == 0)),
        func.count().filter(_COULD_MISS),
        func.count().filter(Turn.law_mismatch.is_(True)),
        *(func.count().filter(Turn.status == state) for state in _STATES),
    )
    row = (await session.execute(query.where(*chosen(selection)))).one()
    turns, achieved, expected, covered, lost, known, losing, hits, could_miss, mismatches, *states = row
    return Tiles(
        turns=turns,
        reuse=Rate(int(achieved or 0), int(expected or 0), covered),
        lost=as_sum(lost, known),
        losing_turns=losing,
        hits=Rate(hits, could_miss, could_miss),
        first_token=await _first_token(session, selection),
        by_status=dict(zip(_STATES, states, strict=True)),
        law_mismatches=mismatches,
    )


async def _first_token(session: AsyncSession, selection: Selection) -> FirstTokenTimes:
    exact = is_exact(selection)
    counts: dict[int, dict[int, int]] = defaultdict(dict)
    each = [
        select(literal_column(str(number)), bucketed(time, exact=exact).label("lowest"), func.count())
        .where(time.is_not(None), *chosen(selection))
        .group_by("lowest")
        for number, time in enumerate(_TIMES)
    ]
    for number, lowest, turns in await session.execute(union_all(*each)):
        counts[number][lowest] = turns
    total, queued, admission, prefill = (percentiles(counts[number], exact=exact) for number in range(len(_TIMES)))
    return FirstTokenTimes(total, queued, admission, prefill)


async def totals(session: AsyncSession, selection: Selection) -> Totals:
    figures = (PROMPT, CACHED, COMPUTED, Turn.output_tokens, LOST, ON_PURPOSE_TOKENS, ROUNDING)
    query = select(func.count(), *(column for figure in figures for column in sum_of(figure)))
    turns, *sums = (await session.execute(query.where(*chosen(selection)))).one()
    return Totals(turns, *(as_sum(sums[place], sums[place + 1]) for place in range(0, len(sums), 2)))


async def live_turns(session: AsyncSession) -> LiveTurns:
    counts = [func.count().filter(Turn.status == state) for state in ("running", "queued")]
    return LiveTurns(*(await session.execute(select(*counts).where(TURN_IS_LIVE, COUNTED))).one())
