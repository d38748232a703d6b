"""Percentiles of times in milliseconds, from how often each time was seen.

Of a long selection, times are put into buckets: up to 127 ms one for each, then 64 for each doubling, so that each is
at most 1/64 as wide as its times, and its middle at most 0.8% away from them.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from app.reports.overview import Percentiles, Selection

EXACT_UP_TO: Final = timedelta(days=7)
_BITS_KEPT: Final = 7
_MOST_BITS: Final = 31  # of a column of whole numbers, without the sign
LOWEST_OF_BUCKETS: Final = (
    *range(2**_BITS_KEPT),
    *(
        lowest << bits
        for bits in range(1, _MOST_BITS - _BITS_KEPT + 1)
        for lowest in range(2 ** (_BITS_KEPT - 1), 2**_BITS_KEPT)
    ),
)


def is_exact(selection: Selection) -> bool:
    return selection.since is not None and selection.until - selection.since <= EXACT_UP_TO


def percentile(counts: Mapping[int, int], percent: int, *, exact: bool) -> float | None:
    """The smallest time that `percent` of all reach at most; `counts` by the lowest time of each bucket."""
    wanted = -(-sum(counts.values()) * percent // 100)
    seen = 0
    for lowest in sorted(counts):
        seen += counts[lowest]
        if seen >= wanted:
            return float(lowest) if exact else lowest + (_width(lowest) - 1) / 2
    return None


def percentiles(counts: Mapping[int, int], *, exact: bool) -> Percentiles | None:
    """None where there is no time at all."""
    p50, p95, p99 = (percentile(counts, percent, exact=exact) for percent in (50, 95, 99))
    if p50 is None or p95 is None or p99 is None:
        return None
    return Percentiles(p50, p95, p99, sum(counts.values()), exact)


def _width(lowest: int) -> int:
    return 1 << max(0, lowest.bit_length() - _BITS_KEPT)
