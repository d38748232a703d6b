"""The geometry of the chart of a conversation's turns: prompt in five layers, output, first token; pure.

The template draws it as SVG; nothing here knows colours or HTML.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from app.reports import TurnRow
from app.web.turn_layers import Layers, layers_of

PLOT_HEIGHT = 150.0
BAR_WIDTH = 20
OUTPUT_WIDTH = 5
BAR_GAP = 11
LEFT_MARGIN = 56
RIGHT_MARGIN = 58
TOP_MARGIN = 34
BOTTOM_MARGIN = 24
MINIMUM_WIDTH = 320
LONG_IDLE_S: Final = 300.0

Layer = Literal["cached", "lost", "rounding", "on-purpose", "new"]
MarkKind = Literal["idle", "cut", "serving"]


@dataclass(frozen=True, slots=True)
class Segment:
    """`y` and `height` in the chart's units; drawn from the bottom up."""

    layer: Layer
    tokens: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """Without segments where the turn's counts are not known; the chart shows a gap, not a zero.

    `first_token_y` is the height of the line there, None where the turn has no first token. `shared`: the turn lies on
    several branches. `marks` tell what happened between the turn before and this one.
    """

    number: int
    x: float
    segments: tuple[Segment, ...]
    output: Segment | None
    first_token_ms: int | None
    first_token_y: float | None
    shared: bool
    marks: tuple[MarkKind, ...]

    @property
    def middle(self) -> float:
        return self.x + BAR_WIDTH / 2


@dataclass(frozen=True, slots=True)
class Chart:
    """`highest` in tokens and `slowest` in milliseconds are the tops of the two scales.

    `lines` are the runs of the first-token line, each a list of points as SVG has it.
    """

    width: float
    height: float
    baseline: float
    top: float
    left: float
    right: float
    slot: int
    bar_width: int
    output_width: int
    highest: int
    slowest: int
    bars: tuple[Bar, ...]
    lines: tuple[str, ...]


def chart_of(rows: Sequence[TurnRow], shared: Collection[UUID] = ()) -> Chart:
    """One bar per turn, all on the scale of the longest prompt. `shared` are turns that lie on several branches."""
    highest = max((max(_figures(row)) for row in rows), default=0)
    slowest = max((row.figures.time_to_first_token_ms or 0 for row in rows), default=0)
    slot = BAR_WIDTH + OUTPUT_WIDTH + BAR_GAP
    bars = tuple(
        _bar(row, LEFT_MARGIN + BAR_GAP + place * slot, highest, slowest, row.figures.id in shared)
        for place, row in enumerate(rows)
    )
    right = max(MINIMUM_WIDTH - RIGHT_MARGIN, LEFT_MARGIN + BAR_GAP + len(rows) * slot)
    baseline = TOP_MARGIN + PLOT_HEIGHT
    return Chart(
        right + RIGHT_MARGIN, baseline + BOTTOM_MARGIN, baseline, TOP_MARGIN, LEFT_MARGIN, right, slot, BAR_WIDTH,
        OUTPUT_WIDTH, highest, slowest, bars, _lines(bars),
    )  # fmt: skip


def marks_of(row: TurnRow) -> tuple[MarkKind, ...]:
    """What the cache may have suffered from between the turn before and this one."""
    marks: list[tuple[MarkKind, bool]] = [
        ("idle", row.idle_before_s is not None and row.idle_before_s > LONG_IDLE_S),
        ("cut", row.cut),
        ("serving", row.serving_changed),
    ]
    return tuple(kind for kind, there in marks if there)


def _figures(row: TurnRow) -> tuple[int, int]:
    return row.figures.prompt_tokens or 0, row.figures.output_tokens or 0


def _bar(row: TurnRow, x: float, highest: int, slowest: int, shared: bool) -> Bar:
    figures = row.figures
    first = figures.time_to_first_token_ms
    layers, output = layers_of(figures), figures.output_tokens
    baseline = TOP_MARGIN + PLOT_HEIGHT
    return Bar(
        number=row.number,
        x=x,
        segments=_segments(layers, highest) if layers else (),
        output=_segment("new", output, baseline, highest) if output else None,
        first_token_ms=first,
        first_token_y=None if first is None else round(baseline - PLOT_HEIGHT * _share(first, slowest), 2),
        shared=shared,
        marks=marks_of(row),
    )


def _segments(layers: Layers, highest: int) -> tuple[Segment, ...]:
    named: tuple[tuple[Layer, int], ...] = (
        ("cached", layers.cached),
        ("lost", layers.lost),
        ("rounding", layers.rounding),
        ("on-purpose", layers.on_purpose),
        ("new", layers.new),
    )
    segments: list[Segment] = []
    y = TOP_MARGIN + PLOT_HEIGHT
    for layer, tokens in named:
        if tokens:
            segments.append(_segment(layer, tokens, y, highest))
        y -= PLOT_HEIGHT * _share(tokens, highest)
    return tuple(segments)


def _segment(layer: Layer, tokens: int, bottom: float, highest: int) -> Segment:
    height = PLOT_HEIGHT * _share(tokens, highest)
    return Segment(layer, tokens, round(bottom - height, 2), round(height, 2))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _lines(bars: Sequence[Bar]) -> tuple[str, ...]:
    """Turns without a first token interrupt the line."""
    runs: list[list[str]] = [[]]
    for bar in bars:
        if bar.first_token_y is None:
            runs.append([])
        else:
            runs[-1].append(f"{bar.middle},{bar.first_token_y}")
    return tuple(" ".join(run) for run in runs if len(run) > 1)
