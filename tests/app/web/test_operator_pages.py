"""The operator's numbers: the same in table, chart and totals, and no words of anybody."""

import re

import pytest

from app.reports import TurnRow
from app.web.languages import load_languages
from app.web.operator_pages import cells_of
from app.web.turn_chart import PLOT_HEIGHT, chart_of, layers_of
from app.web.turn_totals import Total, totals_of
from tests.app.web.figures import counted, figures
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Event, Gate, answer, delta, ending, error_reply, message_start


def table_of(page: str) -> list[dict[str, str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page.split("<tbody>")[1].split("</tbody>")[0], re.DOTALL)
    return [dict(re.findall(r'data-cell="(\w+)">(?:<span class="wrapped">)?(.*?)</', row)) for row in rows]


def test_worked_example_in_the_table(site: Site, mina: Visitor) -> None:
    path = "/"
    for input_tokens, read, output, stop in ((16, 0, 4, "end_turn"), (8, 19, 4, "end_turn"), (10, 30, 7, "end_turn")):
        usage = {"input_tokens": input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}
        site.backend.script(*answer("Answer words", usage=usage, output_tokens=output, stop_reason=stop))
        path = site.ask(mina, "Question words", path)
    page = mina.open(f"/operator{path}").text
    columns = ("number", "prompt", "cached", "computed", "written", "expected", "shortfall", "kv_at_end", "in_blocks")
    rows = [tuple(row[column] for column in columns) for row in table_of(page)]
    assert rows == [
        ("1", "16", "0", "16", "4", "none", "none", "19", "0"),
        ("2", "27", "19", "8", "4", "19", "0", "30", "16"),
        ("3", "40", "30", "10", "7", "30", "0", "46", "16"),
    ]
    totals = dict(re.findall(r'data-total="(\w+)">\s*([\d,–]+)', page))
    assert totals == {
        "prompt": "83", "cached": "49", "computed": "34", "written": "15", "expected": "49", "shortfall": "0",
    }  # fmt: skip
    bars = re.findall(r'<rect class="(\w+)"[^>]*data-turn="(\d)" data-tokens="(\d+)"', page)
    assert bars == [
        ("new", "1", "16"), ("cached", "2", "19"), ("new", "2", "8"), ("cached", "3", "30"), ("new", "3", "10"),
    ]  # fmt: skip
    assert "From cache: 59% of 83 prompt tokens, over 3 of 3 turns" in page
    assert "words" not in re.sub(r'class="[^"]*"', "", page)  # Neither the question nor the answer.


def test_zero_not_reported_pending_and_not_sent_are_four_things(site: Site, mina: Visitor) -> None:
    usage = {"input_tokens": 16, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    site.backend.script(*answer("a", usage=usage, output_tokens=4))
    path = site.ask(mina, "One")
    site.backend.script(message_start(usage={"input_tokens": 5}), delta("b"), *ending(output_tokens=2))
    site.ask(mina, "Two", path)
    gate = Gate()
    site.backend.script(message_start(), delta("c"), gate, *ending(output_tokens=2))
    mina.open(path)
    mina.submit(f"{path}/messages", text="Three")
    gate.wait_arrived()
    rows = table_of(mina.open(f"/operator{path}").text)
    gate.open()
    assert [row["cached"] for row in rows] == ["0", "not reported", "pending"]
    assert cells_of(TurnRow(1, figures(queued_ms=None), None, None, None), load_languages()["en"], "UTC").cached == (
        "not sent"
    )


def test_rate_is_one_sum_over_another_and_absent_where_nothing_was_reported(site: Site, mina: Visitor) -> None:
    """A failed, a stopped and an unreported turn; then a finished one, and a stopped one that had reported."""
    site.backend.script(error_reply(400, "invalid_request_error"))
    path = site.ask(mina, "Question")
    stop_in_the_middle(site, mina, path, message_start())
    site.backend.script(message_start(), delta("b"), *ending(output_tokens=2))
    site.ask(mina, "Question", path)
    for page in (f"/operator{path}", "/operator/conversations", path):
        assert "%" not in mina.open(page).text
    for input_tokens, read in ((0, 0), (10, 30)):
        usage = {"input_tokens": input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}
        site.backend.script(*answer("c", usage=usage))
        site.ask(mina, "Question", path)
        if not read:
            assert "From cache: 0% of 0 prompt tokens, over 1 of 4 turns" in mina.open(f"/operator{path}").text
    usage = {"input_tokens": 50, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 0}
    stop_in_the_middle(site, mina, path, message_start(usage=usage))
    assert "From cache: 30% of 100 prompt tokens, over 3 of 6 turns" in mina.open(f"/operator{path}").text
    page = mina.open("/operator/conversations").text
    assert '<td data-cell="cached">30 (30%)</td>' in page
    assert "3 of 6 turns" in page


def stop_in_the_middle(site: Site, mina: Visitor, path: str, *steps: Event) -> None:
    gate = Gate()
    site.backend.script(*steps, delta("a"), gate, *ending(output_tokens=2))
    mina.open(path)
    mina.submit(f"{path}/messages", text="Question")
    gate.wait_arrived()
    mina.submit(f"/turns/{mina.turn_id}/stop")
    site.wait_idle(mina)
    gate.open()


def test_prompt_is_cached_plus_shortfall_plus_new() -> None:
    turn = counted(1300, 100, expected_read_tokens=1389, shortfall_tokens=1289)
    assert layers_of(turn) == (("cached", 100), ("shortfall", 1289), ("on-purpose", 0), ("new", 11))
    chart = chart_of([(1, turn), (2, figures()), (3, counted(0, 0))])
    assert chart.highest == 1400
    assert [segment.layer for segment in chart.bars[0].segments] == ["cached", "shortfall", "new"]
    assert sum(segment.height for segment in chart.bars[0].segments) == pytest.approx(PLOT_HEIGHT, abs=0.05)
    assert chart.bars[0].segments[-1].y == pytest.approx(chart.top, abs=0.05)
    assert chart.bars[1].segments == chart.bars[2].segments == ()


def test_changed_system_prompt_is_no_shortfall() -> None:
    edited = counted(1300, 100, expected_read_tokens=1389, shortfall_tokens=1289, outcome="system_prompt_edited")
    assert layers_of(edited) == (("cached", 100), ("shortfall", 0), ("on-purpose", 1289), ("new", 11))
    missed = counted(60, 30, expected_read_tokens=40, shortfall_tokens=10)
    totals = totals_of([edited, missed, counted(16, 0)])
    assert (totals.shortfall, totals.on_purpose) == (Total(10, 2), Total(1289, 1))
    english, korean = (
        cells_of(TurnRow(2, edited, 1400, 1, 3.0), load_languages()[tag], "UTC").shortfall for tag in ("en", "ko")
    )
    assert english == "1,289 on purpose: system prompt changed"
    assert korean == "1,289 의도됨: 시스템 프롬프트 변경"


def test_another_model_is_no_shortfall() -> None:
    switched = counted(1300, 0, expected_read_tokens=1289, shortfall_tokens=1289, outcome="model_switched")
    assert layers_of(switched) == (("cached", 0), ("shortfall", 0), ("on-purpose", 1289), ("new", 11))
    assert totals_of([switched]).on_purpose == Total(1289, 1)
    english, korean = (
        cells_of(TurnRow(2, switched, 1300, 1, 3.0), load_languages()[tag], "UTC").shortfall for tag in ("en", "ko")
    )
    assert english == "1,289 on purpose: another model"
    assert korean == "1,289 의도됨: 다른 모델"


def test_page_tells_what_was_computed_again_on_purpose(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    mina.open(path)
    mina.submit(f"{path}/system-prompt", system_prompt="Be terse.")
    site.ask(mina, "Two", path)
    page = mina.open(f"/operator{path}").text
    expected = table_of(page)[1]["expected"]
    assert table_of(page)[1]["shortfall"] == f"{expected} on purpose: system prompt changed"
    assert f"Computed again on purpose: {expected} tokens in 1 turn with a changed system prompt" in page
    assert re.search(rf'<rect class="on-purpose"[^>]*data-turn="2" data-tokens="{expected}"', page)
    assert re.search(r'data-total="shortfall">\s*0', page)
    assert '<rect class="shortfall"' not in page


def test_chart_of_nothing_has_no_bars() -> None:
    chart = chart_of([(1, figures())])
    assert (chart.highest, chart.bars[0].segments) == (0, ())
    assert chart_of([]).bars == ()


def test_totals_are_sums_over_the_turns_that_have_the_figure() -> None:
    totals = totals_of([counted(16, 0, 4), counted(8, 19), figures(output_tokens=7), figures()])
    assert totals.prompt == Total(43, 2)
    assert totals.cached == Total(19, 2)
    assert totals.written == Total(11, 2)
    assert totals.shortfall == Total(None, 0)
    assert (totals.rate_cached, totals.rate_prompt, totals.rate_covered, totals.turns) == (19, 43, 2, 4)


def test_cells_name_minimum_and_errors() -> None:
    turn = counted(40, 16, 4, expected_read_tokens=30, expected_is_minimum=True, shortfall_tokens=14, status="failed",
                   stop_reason=None, error_type="overloaded", time_to_first_token_ms=500, duration_ms=1500)  # fmt: skip
    cells = cells_of(TurnRow(2, turn, 59, 1, 3.0), load_languages()["en"], "Asia/Seoul")
    assert (cells.expected, cells.state, cells.speed) == ("≥ 30", "failed · overloaded", "3.0 tok/s")
    assert cells.at.endswith("9:00:00\u202fPM KST")
