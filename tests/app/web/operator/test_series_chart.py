"""The chart's geometry: layers that add up, one axis for both plots, and gaps where nothing is known."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reports.overview import Bucket, Mark, Series
from app.web.operator.series_chart import (
    LEFT,
    RIGHT,
    TIMES_HEIGHT,
    TOKENS_HEIGHT,
    TOP,
    WIDTH,
    layers_of,
    round_up,
    series_chart,
)
from tests.app.web.operator.values import NOW, bucket

SEOUL = ZoneInfo("Asia/Seoul")
TOKENS = st.integers(0, 10**9)


def series(*buckets: Bucket, marks: tuple[Mark, ...] = (), step: timedelta = timedelta(hours=1)) -> Series:
    return Series(step, True, buckets, marks)


@given(st.lists(st.tuples(TOKENS, TOKENS, TOKENS, TOKENS, TOKENS), max_size=40))
def test_columns_are_as_high_as_their_tokens_and_stay_inside(layers: list[tuple[int, ...]]) -> None:
    chart = series_chart(series(*(bucket(place, *each) for place, each in enumerate(layers))), SEOUL)
    assert chart.most_tokens >= max(map(sum, layers), default=0)
    for column in chart.columns:
        whole = sum(tokens for _, tokens in layers_of(column.bucket))
        drawn = sum(piece.height for piece in column.pieces)
        assert drawn == pytest.approx(TOKENS_HEIGHT * whole / max(1, chart.most_tokens), abs=0.05)
        assert {piece.layer for piece in column.pieces} == {name for name, n in layers_of(column.bucket) if n}
        assert all(TOP - 0.05 <= piece.y <= chart.tokens_base for piece in column.pieces)
        assert LEFT <= column.x <= column.x + chart.column_width <= WIDTH - RIGHT + 0.05


def test_layers_lie_upon_each_other() -> None:
    (column,) = series_chart(series(bucket(0, 40, 30, 20, 8, 2)), SEOUL).columns
    names = [piece.layer for piece in column.pieces]
    assert names == ["cached", "new", "on-purpose", "lost", "rounding"]
    for below, above in zip(column.pieces, column.pieces[1:], strict=False):
        assert above.y + above.height == pytest.approx(below.y, abs=0.02)


def test_line_breaks_where_no_time_is_known() -> None:
    times = (100.0, None, 200.0, 400.0, None)
    chart = series_chart(series(*(bucket(n, 1, p50=time, p95=time) for n, time in enumerate(times))), SEOUL)
    assert [len(run) for run in chart.p50.runs] == [1, 2]
    assert chart.most_ms == 400
    assert chart.p95.runs[1][-1][1] == pytest.approx(chart.times_base - TIMES_HEIGHT)
    assert chart.p50.runs[0][0][1] == pytest.approx(chart.times_base - TIMES_HEIGHT / 4)


def test_marks_stand_on_the_axis_of_the_columns() -> None:
    marks = tuple(
        Mark("app_start", NOW - timedelta(hours=hours), None, None, None) for hours in (30, 24, 22.5, 22.01, 0.5)
    )
    chart = series_chart(series(bucket(0, 5), bucket(1, 5), marks=marks), SEOUL)
    pitch = (WIDTH - LEFT - RIGHT) / 2
    assert [each.x for each in chart.marks] == [LEFT, round(LEFT + 1.5 * pitch, 2), round(LEFT + 1.99 * pitch, 2)]


def test_ticks_are_at_whole_hours_of_the_zone() -> None:
    buckets = [replace(bucket(0), start=datetime(2026, 11, 29, 15, 15, tzinfo=UTC) + n * timedelta(minutes=15))
               for n in range(97)]  # fmt: skip
    chart = series_chart(series(*buckets, step=timedelta(minutes=15)), SEOUL)
    hours = [buckets[tick.place].start.astimezone(SEOUL).strftime("%H:%M") for tick in chart.ticks]
    assert hours == ["04:00", "08:00", "12:00", "16:00", "20:00", "00:00"]


def test_long_steps_are_ticked_evenly() -> None:
    chart = series_chart(series(*(bucket(n) for n in range(50)), step=timedelta(days=3)), SEOUL)
    assert [tick.place for tick in chart.ticks] == list(range(0, 50, 7))


def test_chart_of_nothing_is_empty() -> None:
    chart = series_chart(series(), SEOUL)
    assert (chart.most_tokens, chart.most_ms, chart.columns, chart.ticks, chart.marks) == (0, 0, (), (), ())
    idle = series_chart(series(bucket(0), bucket(1)), SEOUL)
    assert [column.pieces for column in idle.columns] == [(), ()]
    assert idle.p50.runs == ()


@given(st.floats(0.001, 1e12))
def test_round_up_is_near_and_never_below(value: float) -> None:
    assert value <= round_up(value) <= 1.6 * value
    assert round_up(0) == 0
