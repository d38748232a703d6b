"""The chart's words and table: times in the reader's zone, sums that are the columns' sums."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.reports.overview import Mark, Series
from app.web.languages import load_languages
from app.web.operator.series_chart import Tick
from app.web.operator.series_words import mark_words, rows_of, step_words, sums_of, tick_words
from app.web.operator.times import length_words
from tests.app.web.operator.values import NOW, bucket

LANGUAGES = load_languages()
ENGLISH = LANGUAGES["en"]


@pytest.mark.parametrize(
    ("step", "english", "korean"),
    [
        (timedelta(minutes=15), "15 min", "15분"), (timedelta(hours=4), "4 h", "4시간"),
        (timedelta(days=1), "1 day", "1일"), (timedelta(days=3), "3 days", "3일"),
    ],
)  # fmt: skip
def test_steps(step: timedelta, english: str, korean: str) -> None:
    assert (step_words(step, ENGLISH), step_words(step, LANGUAGES["ko"])) == (english, korean)


def test_ticks_name_the_day_where_it_changes() -> None:
    start = datetime(2026, 11, 29, 11, 0, tzinfo=UTC)
    buckets = tuple(replace(bucket(0), start=start + n * timedelta(hours=4)) for n in range(4))
    ticks = [Tick(place, 0.0) for place in range(4)]
    hours = Series(timedelta(hours=4), True, buckets, ())
    assert tick_words(hours, ticks, "Asia/Seoul", ENGLISH) == ("Nov 29 20:00", "Nov 30", "04:00", "08:00")
    days = replace(hours, step=timedelta(days=1))
    assert tick_words(days, ticks[:1], "Asia/Seoul", ENGLISH) == ("Nov 29",)


def test_table_has_every_layer_and_their_sums() -> None:
    buckets = [bucket(0, 1000, 20, 3, 400, 5, p50=250.0), bucket(1)]
    first, idle = rows_of(buckets, "Asia/Seoul", ENGLISH)
    assert (first.start, first.turns, first.prompt, first.p50, first.p95) == (
        "Nov 29 13:00",
        "1",
        "1,428",
        "0.25 s",
        "–",
    )
    assert [tokens for _, tokens in first.layers] == ["1,000", "20", "3", "400", "5"]
    assert (idle.turns, idle.prompt, idle.p50) == ("0", "0", "–")
    assert sums_of(buckets, ENGLISH).prompt == "1,428"
    assert [tokens for _, tokens in sums_of([], ENGLISH).layers] == ["0"] * 5


def test_marks_say_what_happened_where() -> None:
    started = mark_words(Mark("server_start", NOW, "east", "secret-id", None), "Asia/Seoul", ENGLISH)
    assert (started.at, started.words) == ("Nov 30 13:00", "model server started · east")
    changed = mark_words(Mark("setting_changed", NOW, None, None, "answer_tokens"), "Asia/Seoul", LANGUAGES["ko"])
    assert changed.words == "설정 변경 · answer_tokens"
    assert mark_words(Mark("other", NOW, None, None, None), "UTC", ENGLISH).words == "other"


def test_lengths_are_in_the_unit_that_fits() -> None:
    words = [length_words(seconds, ENGLISH) for seconds in (0.2, 4.56, 206, 1200, 90_000)]
    assert words == ["under 1 s", "4.6 s", "206 s", "20 min", "25 h"]
