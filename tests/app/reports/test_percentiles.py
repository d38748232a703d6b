"""Percentiles of times: exact ones, and how far those from buckets can be off. The buckets are those of SQL."""

from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import Integer, column, func, select, values

from app.database import Database
from app.reports.overview import Selection
from app.reports.percentiles import bucketed, is_exact, percentile, percentiles
from tests.app.houses import START

pytestmark = pytest.mark.anyio
TIMES = [0, 1, 126, 127, *(2**bits + offset for bits in range(7, 30) for offset in (-1, 0, 1)), *range(1_000, 1_300, 7)]


@pytest.mark.parametrize("percent", [50, 95, 99])
def test_percentile_is_the_smallest_time_that_enough_turns_reach(percent: int) -> None:
    counts = Counter({3: 49, 5: 1, 70: 45, 900: 5})
    assert percentile(counts, percent, exact=True) == {50: 5, 95: 70, 99: 900}[percent]


def test_no_times_have_no_percentiles() -> None:
    assert percentiles(Counter(), exact=True) is None
    assert percentile({}, 50, exact=False) is None


@pytest.mark.parametrize("percent", [50, 95, 99])
async def test_buckets_are_off_by_less_than_one_percent(database: Database, percent: int) -> None:
    for chosen in (TIMES, TIMES[:40], TIMES[40:], *([time] for time in TIMES[:30])):
        table = values(column("time", Integer), name="times").data([(time,) for time in chosen]).cte()
        query = select(bucketed(table.c.time, exact=False).label("lowest"), func.count()).group_by("lowest")
        async with database.read() as session:
            counts = {row[0]: row[1] for row in await session.execute(query)}
        exact = percentile(Counter(chosen), percent, exact=True)
        found = percentile(counts, percent, exact=False)
        assert exact is not None
        assert found is not None
        assert abs(found - exact) <= exact * 0.008


async def test_buckets_are_at_most_two_percent_wide(database: Database) -> None:
    table = values(column("time", Integer), name="times").data([(time,) for time in range(4_000)]).cte()
    lowest = bucketed(table.c.time, exact=False).label("lowest")
    query = select(lowest, func.min(table.c.time), func.max(table.c.time)).group_by("lowest")
    async with database.read() as session:
        rows = (await session.execute(query)).all()
    assert all(row[0] == row[1] for row in rows)
    assert all(row[2] - row[1] + 1 <= max(1, row[1] * 0.02) for row in rows)
    assert len(rows) < 500


def test_a_week_is_exact_and_more_is_not() -> None:
    assert is_exact(Selection(START - timedelta(days=7), START))
    assert not is_exact(Selection(START - timedelta(days=7, seconds=1), START))
    assert not is_exact(Selection(None, START))
