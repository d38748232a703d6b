"""The geometry of the overview's chart: prompt tokens in layers over time, and the first token's times below; pure.

Both stand on the same axis of time. The template draws it as SVG; nothing here knows colours, words or zones.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import groupby
from typing import Final, Literal

from app.reports.overview import Bucket, Mark, Series

WIDTH: Final = 760.0
LEFT: Final = 64.0
RIGHT: Final = 12.0
TOP: Final = 22.0
TOKENS_HEIGHT: Final = 150.0
BETWEEN: Final = 34.0
TIMES_HEIGHT: Final = 80.0
BOTTOM: Final = 24.0
MOST_TICKS: Final = 8
_ROUND: Final = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
_MINUTES_APART: Final = (1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440)

Layer = Literal["cached", "new", "on-purpose", "lost", "rounding"]


@dataclass(frozen=True, slots=True)
class Piece:
    layer: Layer
    tokens: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """One bucket; without pieces where none of its turns reported a prompt, or none was sent."""

    bucket: Bucket
    x: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """`place` is the number of its bucket, from 0."""

    place: int
    x: float


@dataclass(frozen=True, slots=True)
class PlacedMark:
    mark: Mark
    x: float


@dataclass(frozen=True, slots=True)
class Line:
    """Unbroken pieces of a line; one that is a single point is drawn as a dot."""

    runs: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True, slots=True)
class SeriesChart:
    """`most_tokens` and `most_ms` are what the upper edges of the two plots stand for; 0 where there is nothing."""

    height: float
    column_width: float
    tokens_base: float
    times_top: float
    times_base: float
    most_tokens: int
    most_ms: float
    columns: tuple[Column, ...]
    ticks: tuple[Tick, ...]
    marks: tuple[PlacedMark, ...]
    p50: Line
    p95: Line


def series_chart(series: Series, zone: tzinfo) -> SeriesChart:
    """The zone decides where whole hours and days are, for the ticks."""
    buckets = series.buckets
    pitch = (WIDTH - LEFT - RIGHT) / max(1, len(buckets))
    tokens_base = TOP + TOKENS_HEIGHT
    times_top = tokens_base + BETWEEN
    times_base = times_top + TIMES_HEIGHT
    most_tokens = round_up(max((sum(tokens for _, tokens in layers_of(each)) for each in buckets), default=0))
    most_ms = round_up(max((_slowest(each) for each in buckets), default=0.0))

    def line(figure: Callable[[Bucket], float | None]) -> Line:
        return _line(buckets, figure, pitch, most_ms, times_base)

    return SeriesChart(
        height=times_base + BOTTOM,
        column_width=round(pitch * 0.84, 2),
        tokens_base=tokens_base,
        times_top=times_top,
        times_base=times_base,
        most_tokens=int(most_tokens),
        most_ms=most_ms,
        columns=tuple(
            Column(each, round(LEFT + pitch * (place + 0.08), 2), _pieces(each, most_tokens, tokens_base))
            for place, each in enumerate(buckets)
        ),
        ticks=tuple(Tick(place, round(LEFT + pitch * place, 2)) for place in _tick_places(series, zone)),
        marks=_marks(series, pitch),
        p50=line(lambda bucket: bucket.first_token_p50_ms),
        p95=line(lambda bucket: bucket.first_token_p95_ms),
    )


def layers_of(bucket: Bucket) -> tuple[tuple[Layer, int], ...]:
    """From the bottom up."""
    return (
        ("cached", bucket.cached),
        ("new", bucket.new),
        ("on-purpose", bucket.on_purpose),
        ("lost", bucket.lost),
        ("rounding", bucket.rounding),
    )


def round_up(value: float) -> float:
    """The next round number at or above it: one digit times a power of ten, or 1.5 or 2.5; 0 stays 0."""
    if value <= 0:
        return 0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in _ROUND if step * power >= value)


def _slowest(bucket: Bucket) -> float:
    return max(bucket.first_token_p50_ms or 0.0, bucket.first_token_p95_ms or 0.0)


def _pieces(bucket: Bucket, most: float, base: float) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    y = base
    for layer, tokens in layers_of(bucket):
        height = TOKENS_HEIGHT * tokens / most if most else 0.0
        y -= height
        if tokens:
            pieces.append(Piece(layer, tokens, round(y, 2), round(height, 2)))
    return tuple(pieces)


def _tick_places(series: Series, zone: tzinfo) -> Sequence[int]:
    """At whole hours or days of the zone where they are near enough to each other, else evenly."""
    minutes = series.step // timedelta(minutes=1)
    apart = next((each for each in _MINUTES_APART if each * MOST_TICKS >= minutes * len(series.buckets)), None)
    if apart is not None and apart >= minutes:
        local = [each.start.astimezone(zone) for each in series.buckets]
        return [place for place, at in enumerate(local) if (at.hour * 60 + at.minute) % apart == 0]
    return range(0, len(series.buckets), max(1, math.ceil(len(series.buckets) / MOST_TICKS)))


def _marks(series: Series, pitch: float) -> tuple[PlacedMark, ...]:
    """Those that happened while the buckets were filled."""
    if not series.buckets or series.step <= timedelta(0):
        return ()
    start, end = series.buckets[0].start, series.buckets[-1].start + series.step

    def x(at: datetime) -> float:
        return round(LEFT + pitch * ((at - start) / series.step), 2)

    return tuple(PlacedMark(mark, x(mark.at)) for mark in series.marks if start <= mark.at < end)


def _line(
    buckets: Sequence[Bucket], figure: Callable[[Bucket], float | None], pitch: float, most: float, base: float
) -> Line:
    points = [
        None
        if (value := figure(bucket)) is None or not most
        else (round(LEFT + pitch * (place + 0.5), 2), round(base - TIMES_HEIGHT * value / most, 2))
        for place, bucket in enumerate(buckets)
    ]
    runs = groupby(points, key=lambda point: point is None)
    return Line(tuple(tuple(point for point in run if point is not None) for gap, run in runs if not gap))
