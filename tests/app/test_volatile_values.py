"""What changes from turn to turn is found in a system prompt, with its kind and place; usual words are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.volatile_values import VolatileValue, find_volatile_values

PLACEHOLDERS = [
    "{{date}}", "{{ current_date }}", "{{CURRENT_DATETIME}}", "{current_time}", "{date}", "{time:%H:%M}", "{Today}",
    "%DATE%", "%current_time%", "$(date)", "$(date +%F)", "${DATE}", "$TIMESTAMP", "[current date]", "<current_date>",
    "%Y-%m-%d", "%H:%M:%S", "<%= Time.now %>", "{uuid}", "{{session_id}}", "{현재 시각}", "{오늘}", "{date_time}",
    "{utc now}",
]  # fmt: skip
DATES = [
    "2026-11-29", "2026/1/2", "2026.11.29", "29.11.2026", "11/29/2026", "2026년 11월 29일", "11월 29일",
    "November 29, 2026", "Nov 29", "29 November 2026", "May 5th",
]  # fmt: skip
TIMES = [
    "12:34", "23:59:59", "9:05 pm", "9 a.m.", "12:34:56.789Z", "12:34 +09:00", "오후 3시", "오전 10시 30분",
    "15시 04분",
]  # fmt: skip
HARMLESS = [
    "Be nice.", 'Answer in JSON like {"name": "..."}.', "Use f(x) and {x}.", "Costs $5 (five).", "Version 1.2.3",
    "Call 555-1234.", "100% of the time", "The date matters.", "It is about time.", "Read RFC 2616 and ISO 8601.",
    "You may answer.",
    "Ports 8000:8080", "Ratio 3:2", "127.0.0.1:8000", "한국어로 답하세요.", "March on.", "[link](x)",
    "<b>", "$name", "{name}",
    "10.0.2026 is no date", "deadbeef-0000", "오후에 답하세요.",
]  # fmt: skip


def kinds(text: str) -> list[str]:
    return [value.kind for value in find_volatile_values(text)]


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_placeholders_are_found_whole(text: str) -> None:
    assert find_volatile_values(f"Today: {text}, be nice.") == (VolatileValue("placeholder", text, 7, 1),)


@pytest.mark.parametrize("text", DATES)
def test_dates_are_found_whole(text: str) -> None:
    assert find_volatile_values(f"Today: {text}, be nice.") == (VolatileValue("date", text, 7, 1),)


@pytest.mark.parametrize("text", TIMES)
def test_times_are_found_whole(text: str) -> None:
    assert find_volatile_values(f"Now: {text} be nice.") == (VolatileValue("time", text, 5, 1),)


def test_uuids_are_found() -> None:
    text = "Request 018f3c5e-7a2b-7c3d-8e4f-0123456789AB."
    assert find_volatile_values(text) == (VolatileValue("uuid", text[8:-1], 8, 1),)


@pytest.mark.parametrize("text", HARMLESS)
def test_usual_words_are_not_warned_of(text: str) -> None:
    assert kinds(text) == []


def test_places_are_characters_and_lines() -> None:
    found = find_volatile_values("Be nice.\n오늘은 2026-11-29 12:34\n{{id}}")
    assert [(value.kind, value.line, value.start) for value in found] == [
        ("date", 2, 13),
        ("time", 2, 24),
        ("placeholder", 3, 30),
    ]


def test_what_stands_inside_a_placeholder_is_not_found_twice() -> None:
    assert kinds("{{ 2026-11-29 }}") == ["placeholder"]


@given(st.text())
def test_found_values_stand_where_they_say_and_never_overlap(text: str) -> None:
    end = 0
    for value in find_volatile_values(text):
        assert text[value.start : value.start + len(value.text)] == value.text
        assert value.start >= end
        end = value.start + len(value.text)
