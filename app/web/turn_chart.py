"""The geometry of the bar chart of a conversation's turns: cached, shortfall or on purpose, new; pure.

The template draws it as SVG; nothing here knows colours or HTML.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.conversations.figures import TurnFigures
from app.web.turn_totals import shortfall_on_purpose, unwanted_shortfall

PLOT_HEIGHT = 140.0
BAR_WIDTH = 22
BAR_GAP = 10
LEFT_MARGIN = 52
TOP_MARGIN = 14
BOTTOM_MARGIN = 22
MINIMUM_WIDTH = 320

Layer = Literal["cached", "shortfall", "on-purpose", "new"]


@dataclass(frozen=True, slots=True)
class Segment:
    """`y` and `height` in the chart's units; drawn from the bottom up."""

    layer: Layer
    tokens: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """Without segments where the turn's counts are not known; the chart shows a gap, not a zero."""

    number: int
    x: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    width: float
    height: float
    baseline: float
    top: float
    left: float
    highest: int
    bars: tuple[Bar, ...]


def chart_of(turns: Sequence[tuple[int, TurnFigures]]) -> Chart:
    """One bar per (number, figures), all on the scale of the longest prompt."""
    highest = max((figures.prompt_tokens or 0 for _, figures in turns), default=0)
    baseline = TOP_MARGIN + PLOT_HEIGHT
    bars = tuple(
        Bar(
            number,
            LEFT_MARGIN + BAR_GAP + place * (BAR_WIDTH + BAR_GAP),
            _segments(layers_of(figures), highest, baseline),
        )
        for place, (number, figures) in enumerate(turns)
    )
    width = max(MINIMUM_WIDTH, LEFT_MARGIN + BAR_GAP + len(turns) * (BAR_WIDTH + BAR_GAP))
    return Chart(width, baseline + BOTTOM_MARGIN, baseline, TOP_MARGIN, LEFT_MARGIN, highest, bars)


def layers_of(figures: TurnFigures) -> tuple[tuple[Layer, int], ...]:
    """The prompt's tokens by layer; empty where prompt or hit is unknown. What was never expected is new."""
    prompt, cached = figures.prompt_tokens, figures.cached_tokens
    if prompt is None or cached is None:
        return ()
    on_purpose, missed = shortfall_on_purpose(figures) or 0, unwanted_shortfall(figures) or 0
    return (
        ("cached", cached),
        ("shortfall", missed),
        ("on-purpose", on_purpose),
        ("new", prompt - cached - missed - on_purpose),
    )


def _segments(layers: Sequence[tuple[Layer, int]], highest: int, baseline: float) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    y = baseline
    for layer, tokens in layers:
        height = PLOT_HEIGHT * tokens / highest if highest else 0.0
        y -= height
        if tokens:
            segments.append(Segment(layer, tokens, round(y, 2), round(height, 2)))
    return tuple(segments)
