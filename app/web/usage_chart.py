"""The geometry of the bar chart of a person's days: prompt tokens from the cache and computed; pure.

The template draws it as SVG; nothing here knows colours or HTML.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports import UsedDay

PLOT_HEIGHT = 120.0
BAR_WIDTH = 16
BAR_GAP = 6
LEFT_MARGIN = 60
TOP_MARGIN = 14
BOTTOM_MARGIN = 22


@dataclass(frozen=True, slots=True)
class DayBar:
    """`known` is False where turns were sent and none has reported: a gap, not a zero."""

    x: float
    cached_height: float
    computed_height: float
    known: bool


@dataclass(frozen=True, slots=True)
class DayChart:
    width: float
    height: float
    baseline: float
    highest: int
    bars: tuple[DayBar, ...]


def day_chart_of(days: Sequence[UsedDay]) -> DayChart:
    """One bar per day, oldest first, all on the scale of the fullest day."""
    highest = max((sum(_layers(day)) for day in days), default=0)
    scale = PLOT_HEIGHT / highest if highest else 0.0
    bars = []
    for place, day in enumerate(days):
        cached, computed = _layers(day)
        known = day.usage.turns == 0 or day.usage.computed.covered > 0
        x = LEFT_MARGIN + place * (BAR_WIDTH + BAR_GAP)
        bars.append(DayBar(x, round(cached * scale, 2), round(computed * scale, 2), known))
    width = LEFT_MARGIN + len(days) * (BAR_WIDTH + BAR_GAP)
    return DayChart(width, TOP_MARGIN + PLOT_HEIGHT + BOTTOM_MARGIN, TOP_MARGIN + PLOT_HEIGHT, highest, tuple(bars))


def _layers(day: UsedDay) -> tuple[int, int]:
    return day.usage.cached.tokens or 0, day.usage.computed.tokens or 0
