"""The filters of every operator page: what an address says, and how the address of another view is made from it."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs
from uuid import UUID

import pytest

from app.reports.overview import Selection
from app.web.languages import load_languages
from app.web.operator.filters import FilterError, Filters, read_filters

NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
USER = "01890000-0000-7000-8000-000000000001"


def read(language: str = "en", **given: str) -> Filters:
    named = {name.rstrip("_"): value for name, value in given.items()}
    return read_filters(named, NOW, "Asia/Seoul", load_languages()[language])


def test_without_parameters_it_is_the_last_day_in_the_own_zone() -> None:
    filters = read()
    assert filters.selection == Selection(NOW - timedelta(days=1), NOW)
    assert (filters.range, filters.zone, filters.compare, filters.refresh) == ("24h", "Asia/Seoul", False, None)
    assert filters.query() == "range=24h"


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("1h", NOW - timedelta(hours=1)), ("7d", NOW - timedelta(days=7)), ("30d", NOW - timedelta(days=30)),
        ("all", None),
    ],
)  # fmt: skip
def test_range_goes_back_from_now(name: str, since: datetime | None) -> None:
    filters = read(range=name)
    assert filters.selection == Selection(since, NOW)
    assert filters.query() == f"range={name}"


def test_ends_of_a_period_win_and_stand_in_the_zone_where_they_have_no_offset() -> None:
    filters = read(range="7d", from_="2026-11-28T09:00", to="2026-11-29T09:00 09:00", zone="Europe/Berlin")
    assert filters.range is None
    assert filters.selection.since == datetime(2026, 11, 28, 8, tzinfo=UTC)
    assert filters.selection.until == datetime(2026, 11, 29, 0, tzinfo=UTC)
    assert parse_qs(filters.query()) == {
        "from": ["2026-11-28T08:00:00+00:00"], "to": ["2026-11-29T00:00:00+00:00"], "zone": ["Europe/Berlin"],
    }  # fmt: skip
    assert read(
        **{"from_" if key == "from" else key: value[0] for key, value in parse_qs(filters.query()).items()}
    ) == (filters)
    assert read(to="2026-11-30T10:00+09:00").selection.since is None


def test_names_and_switches() -> None:
    filters = read(model="qwen3 & co", backend="east", user=USER, compare="1", refresh="30")
    assert filters.selection == Selection(NOW - timedelta(days=1), NOW, "qwen3 & co", "east", UUID(USER))
    assert (filters.compare, filters.refresh) == (True, 30)
    assert parse_qs(filters.query()) == {
        "range": ["24h"], "model": ["qwen3 & co"], "backend": ["east"], "user": [USER], "compare": ["1"],
        "refresh": ["30"],
    }  # fmt: skip


def test_query_takes_changes_and_leaves_out_what_is_none() -> None:
    filters = read(from_="2026-11-28T09:00Z", backend="east")
    assert filters.query(range="1h", backend=None, outcome="evicted") == "range=1h&outcome=evicted"
    assert filters.query(**{"from": "2026-11-29T00:00Z"}) == "backend=east&from=2026-11-29T00%3A00Z"


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("range", "2w", "1h, 24h, 7d, 30d, all"),
        ("range", "24H", "1h, 24h, 7d, 30d, all"),
        ("from", "yesterday", "2026-11-30T09:00+09:00"),
        ("from", "2026-13-01T00:00Z", "2026-11-30T09:00+09:00"),
        ("from", "0001-01-01T00:00+14:00", "2000 to 2199"),
        ("from", "2026-11-30T03:00:00Z", "a time before the end of the period"),
        ("to", "9999-12-31T23:59-12:00", "2000 to 2199"),
        ("user", "mina", "the id of a user"),
        ("compare", "yes", "1"),
        ("zone", "Mars/Olympus", "Asia/Seoul"),
        ("zone", "../../etc/passwd", "Asia/Seoul"),
        ("refresh", "1", "30"),
        ("model", "a\0b", "at most 200 characters"),
        ("backend", "x" * 201, "at most 200 characters"),
    ],
)
def test_wrong_value_is_refused_with_its_field_and_what_is_allowed(field: str, value: str, allowed: str) -> None:
    with pytest.raises(FilterError) as refused:
        read(**{"from_" if field == "from" else field: value})
    assert refused.value.field == field
    assert f"“{field}”" in refused.value.message
    assert allowed in refused.value.message


def test_refusal_is_in_the_language_of_the_reader() -> None:
    with pytest.raises(FilterError, match="주소의 “range”"):
        read("ko", range="2w")


def test_period_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(FilterError) as refused:
        read(from_="2026-11-29T00:00Z", to="2026-11-28T00:00Z")
    assert refused.value.field == "from"
