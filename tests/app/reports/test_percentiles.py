"""Percentiles of times: exact ones, and how far those from buckets can be off."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest

from app.reports.overview import Selection
from app.reports.percentiles import LOWEST_OF_BUCKETS, is_exact, percentile, percentiles
from app.reports.time_histograms import Times, count
from tests.app.houses import START

TIMES = [0, 1, 126, 127, *(2**bits + offset for bits in range(7, 30) for offset in (-1, 0, 1)), *range(1_000, 1_300, 7)]


def counted(times: list[int], *, exact: bool) -> Times:
    return count(",".join(map(str, times)), exact=exact)


@pytest.mark.parametrize("percent", [50, 95, 99])
def test_percentile_is_the_smallest_time_that_enough_turns_reach(percent: int) -> None:
    counts = Counter({3: 49, 5: 1, 70: 45, 900: 5})
    assert percentile(counts, percent, exact=True) == {50: 5, 95: 70, 99: 900}[percent]


def test_no_times_have_no_percentiles() -> None:
    assert percentiles(Counter(), exact=True) is None
    assert percentile({}, 50, exact=False) is None


@pytest.mark.parametrize("percent", [50, 95, 99])
@pytest.mark.parametrize("chosen", [TIMES, TIMES[:40], TIMES[40:], *([time] for time in TIMES[:30])], ids=len)
def test_buckets_are_off_by_less_than_one_percent(percent: int, chosen: list[int]) -> None:
    exact = percentile(counted(chosen, exact=True), percent, exact=True)
    found = percentile(counted(chosen, exact=False), percent, exact=False)
    assert exact is not None
    assert found is not None
    assert abs(found - exact) <= exact * 0.008


def test_buckets_are_at_most_two_percent_wide() -> None:
    lowest = [each for each in LOWEST_OF_BUCKETS if each < 2**31]
    assert lowest == sorted(set(LOWEST_OF_BUCKETS))
    assert all(above - below <= max(1, below * 0.02) for below, above in pairwise(lowest))
    assert len([each for each in lowest if each < 4_000]) < 500


def test_longest_time_that_a_column_holds_has_a_bucket() -> None:
    assert counted([2**31 - 1], exact=False) == Counter({LOWEST_OF_BUCKETS[-1]: 1})


def test_a_week_is_exact_and_more_is_not() -> None:
    assert is_exact(Selection(START - timedelta(days=7), START))
    assert not is_exact(Selection(START - timedelta(days=7, seconds=1), START))
    assert not is_exact(Selection(None, START))
