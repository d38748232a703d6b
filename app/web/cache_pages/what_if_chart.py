"""The geometry of the chart of a what-if: three bars for each turn, of cached, lost and other computed tokens; pure.

The template draws it as SVG; nothing here knows colours or HTML.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.what_if import Read, TurnWhatIf

PLOT_HEIGHT = 140.0
BAR_WIDTH = 10
BAR_GAP = 2
GROUP_GAP = 14
LEFT_MARGIN = 52
TOP_MARGIN = 14
BOTTOM_MARGIN = 22
MINIMUM_WIDTH = 320

Way = Literal["real", "clock", "blocks"]
Layer = Literal["cached", "shortfall", "new"]


@dataclass(frozen=True, slots=True)
class Segment:
    """`y` and `height` in the chart's units; drawn from the bottom up."""

    layer: Layer
    tokens: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """Without segments where the figures are not known; the chart shows a gap, not a zero."""

    way: Way
    x: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The bars of one turn; `middle` is where its number stands."""

    number: int
    middle: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class WhatIfChart:
    width: float
    height: float
    baseline: float
    top: float
    left: float
    bar_width: int
    highest: int
    groups: tuple[Group, ...]


def what_if_chart_of(turns: Sequence[TurnWhatIf]) -> WhatIfChart:
    """All on the scale of the longest prompt."""
    reads = [read for turn in turns for read in (turn.real, turn.clock) if read]
    highest = max((read.prompt for read in reads), default=0)
    wide = 3 * BAR_WIDTH + 2 * BAR_GAP + GROUP_GAP
    groups = tuple(_group(turn, LEFT_MARGIN + GROUP_GAP + place * wide, highest) for place, turn in enumerate(turns))
    baseline = TOP_MARGIN + PLOT_HEIGHT
    width = max(MINIMUM_WIDTH, LEFT_MARGIN + GROUP_GAP + len(turns) * wide)
    return WhatIfChart(width, baseline + BOTTOM_MARGIN, baseline, TOP_MARGIN, LEFT_MARGIN, BAR_WIDTH, highest, groups)


def layers_of(read: Read) -> tuple[tuple[Layer, int], ...]:
    """They add up to the prompt."""
    return ("cached", read.cached), ("shortfall", read.lost), ("new", read.computed - read.lost)


def _group(turn: TurnWhatIf, x: float, highest: int) -> Group:
    ways: tuple[tuple[Way, Read | None], ...] = (
        ("real", turn.real),
        ("clock", turn.clock),
        ("blocks", turn.blocks),
    )
    bars = tuple(
        Bar(way, x + place * (BAR_WIDTH + BAR_GAP), _segments(read, highest)) for place, (way, read) in enumerate(ways)
    )
    return Group(turn.number, x + 1.5 * BAR_WIDTH + BAR_GAP, bars)


def _segments(read: Read | None, highest: int) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    y = TOP_MARGIN + PLOT_HEIGHT
    for layer, tokens in layers_of(read) if read else ():
        height = PLOT_HEIGHT * tokens / highest if highest else 0.0
        y -= height
        if tokens:
            segments.append(Segment(layer, tokens, round(y, 2), round(height, 2)))
    return tuple(segments)
