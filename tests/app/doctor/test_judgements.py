"""What the doctor makes of the figures of two turns; no backend is asked."""

import pytest

from app.doctor.answering import judge_models, judge_start, judge_stream, judge_usage
from app.doctor.asking import Asked
from app.doctor.caching import judge_cache, judge_diagnostics, judge_inspection
from app.doctor.content import judge_prefill
from app.doctor.findings import Chart, Finding, Report
from app.settings import Backend
from inference_client import CacheState, Message, MessageTokens, Model, PrefixCache, Usage
from inference_client.inspection import Slots
from tests.app.houses import START

BACKEND = Backend(name="one", base_url="http://one")


def turn(
    computed: int | None = 100,
    read: int | None = 0,
    output: int | None = 2,
    *,
    stop_reason: str | None = "end_turn",
    prefix_cache: PrefixCache | None = None,
    started: float | None = 0.0,
    texts: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0),
) -> Asked:
    usage = {"input_tokens": computed, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}
    message = Message("msg", "m", "Words.", stop_reason, None, Usage(), prefix_cache)
    return Asked(message, {}, usage, {"output_tokens": output}, started, list(texts))


def changed(**changes: object) -> Backend:
    return Backend(**{**BACKEND.model_dump(exclude={"reuse_rule"}), **changes})


def only(chart: Chart) -> Finding:
    (finding,) = chart.findings
    return finding


@pytest.mark.parametrize(
    ("read", "rule", "state"),
    [
        (101, "token", "ok"),  # 100 + 2 - 1
        (100, "token", "fail"),
        (0, "token", "fail"),
        (102, "token", "ok"),
        (96, "block(16)", "ok"),
        (85, "block(16)", "fail"),
        (0, "none", "ok"),
        (50, "none", "warn"),
        (None, "token", "warn"),
    ],
)
def test_the_second_turn_reads_what_the_law_says(read: int | None, rule: str, state: str) -> None:
    chart = Chart("one")
    judge_cache(chart, changed(reuse_rule=rule), turn(), turn(120 - (read or 0), read))
    assert only(chart).state == state
    if state == "fail":
        assert f"read {read} tokens of 101" in only(chart).english


def test_the_law_is_a_minimum_where_the_end_of_the_answer_is_not_known() -> None:
    for first in (turn(stop_reason="stop_sequence"), turn(output=None)):
        chart = Chart("one")
        judge_cache(chart, BACKEND, first, turn(10, 100))
        assert (only(chart).state, only(chart).english) == ("ok", "Turn 2 read 100 tokens of at least 100.")


def test_what_the_server_says_of_a_miss_is_told() -> None:
    chart = Chart("one")
    judge_cache(chart, BACKEND, turn(), turn(110, 0, prefix_cache=PrefixCache("evicted")))
    assert "(prefix_cache: evicted)" in only(chart).english


@pytest.mark.parametrize(
    ("told", "configured", "state"),
    [(8192, None, "ok"), (8192, 4096, "ok"), (None, 4096, "ok"), (None, None, "warn"), (4096, 8192, "warn")],
)
def test_a_context_window_is_known_and_not_exceeded(told: int | None, configured: int | None, state: str) -> None:
    chart = Chart("one")
    assert judge_models(chart, changed(context_window=configured), [Model("m", "M", told)]) == "m"
    assert only(chart).state == state


@pytest.mark.parametrize(
    ("closing", "configured", "state"),
    [(0, True, "ok"), (5, True, "fail"), (5, False, "ok"), (0, False, "ok"), (None, True, "fail"), (None, False, "ok")],
)
def test_an_answer_that_is_gone_on_with(closing: int | None, configured: bool, state: str) -> None:
    """`closing` are the tokens behind the begun answer; None where it is refused."""
    chart = Chart("one")
    begun = None if closing is None else turn(30 + closing)
    judge_prefill(chart, changed(prefill=configured), turn(30), begun)
    assert only(chart).state == state


def test_prefill_cannot_be_told_without_usage() -> None:
    chart = Chart("one")
    judge_prefill(chart, BACKEND, turn(None), turn(30))
    assert only(chart).state == "warn"


def test_what_comes_too_fast_is_not_judged() -> None:
    chart = Chart("one")
    fast = turn(started=0.2, texts=(0.2, 0.2, 0.2, 0.2))
    judge_stream(chart, fast, 0.25)
    judge_start(chart, changed(early_message_start=True), fast, 0.25)
    assert [finding.state for finding in chart.findings] == ["ok", "ok"]


def test_message_start_before_the_prefill_is_a_hint() -> None:
    chart = Chart("one")
    judge_start(chart, BACKEND, turn(started=0.1), 0.25)
    assert "early_message_start can be set" in only(chart).english


def test_a_prompt_that_is_shown_otherwise_than_it_was_reported() -> None:
    chart = Chart("one")
    pool = CacheState(
        serving_id="a", slots=Slots(total=9, free=9, cached=0, live=0), nodes=0, scopes=0, evicted_tokens=0,
        waiting=0, running=0, records=0,
    )  # fmt: skip
    shown = MessageTokens(
        input_tokens=99, cache_read_input_tokens=0, output_tokens=2, kv_tokens=100, finished=True, tokens=()
    )
    judge_inspection(chart, turn(), pool, shown)
    assert only(chart).state == "fail"


def test_usage_without_output_tokens_is_missing() -> None:
    chart = Chart("one")
    judge_usage(chart, turn(output=None))
    assert only(chart).state == "fail"
    assert "output_tokens null" in only(chart).english


def test_diagnostics_are_asked_for_only_where_they_are_configured() -> None:
    chart = Chart("one")
    judge_diagnostics(chart, BACKEND, turn())
    assert chart.findings == []


def test_a_report_comes_back_from_its_json() -> None:
    chart = Chart("one")
    judge_usage(chart, turn())
    report = Report(START, tuple(chart.findings))
    assert Report.from_json(report.to_json()) == report
    assert Report.from_json("{}") is None
    assert not report.failed
