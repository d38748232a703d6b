"""The turns of a conversation: the same in table, chart and totals, for its owner and for operators."""

import re
from uuid import UUID

from app.cache_outcomes import Outcome
from app.web.cache_pages.turn_cells import cells_of
from app.web.languages import load_languages
from app.web.turn_totals import Total, totals_of
from tests.app.web.cache_pages.talks import talk, tell
from tests.app.web.figures import counted, figures, row
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Event, Gate, answer, delta, ending, error_reply, message_start


def table_of(page: str) -> list[dict[str, str]]:
    rows = re.findall(r'<tr(?: class="shared")?>(.*?)</tr>', page.split("<tbody>")[1].split("</tbody>")[0], re.DOTALL)
    return [
        dict(
            re.findall(
                r'data-cell="(\w+)">\s*(?:<span class="wrapped">|<span class="outcome \w+">|<a href="[^"]*">)?(.*?)</',
                row,
            )
        )
        for row in rows
    ]


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
        "prompt": "83", "cached": "49", "new": "34", "shortfall": "0", "expected": "49", "computed": "34",
        "written": "15",
    }  # fmt: skip
    bars = re.findall(r'<rect class="([\w-]+)"[^>]*data-turn="(\d)" data-tokens="(\d+)"', page)
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
    assert cells_of(row(1, figures(queued_ms=None)), load_languages()["en"], "UTC").cached == ("not sent")


def test_rate_is_one_sum_over_another_and_absent_where_nothing_was_reported(site: Site, mina: Visitor) -> None:
    """A failed, a stopped and an unreported turn; then a finished one, and a stopped one that had reported."""
    site.backend.script(error_reply(400, "invalid_request_error"))
    path = site.ask(mina, "Question")
    stop_in_the_middle(site, mina, path, message_start())
    site.backend.script(message_start(), delta("b"), *ending(output_tokens=2))
    site.ask(mina, "Question", path)
    for page in (f"/operator{path}", path):
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


def stop_in_the_middle(site: Site, mina: Visitor, path: str, *steps: Event) -> None:
    gate = Gate()
    site.backend.script(*steps, delta("a"), gate, *ending(output_tokens=2))
    mina.open(path)
    mina.submit(f"{path}/messages", text="Question")
    gate.wait_arrived()
    mina.submit(f"/turns/{mina.turn_id}/stop")
    site.wait_idle(mina)
    gate.open()


def sums_of_the_shortfall(page: str) -> tuple[str, dict[str, str]]:
    """The sum of the column, and those of its parts."""
    cell = page.split('data-total="shortfall">')[1].split("</td>")[0]
    return cell.split("<")[0].strip(), dict(re.findall(r'data-part="([\w-]+)">\s*[\w ]+: ([\d,]+)', cell))


def test_sum_under_the_shortfall_is_that_of_its_column(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    for text in ("Two", "Three", "Four", "Five"):
        site.ask(mina, text, path)
    turns = [str(UUID(row[0])) for row in site.rows("SELECT id FROM turns ORDER BY id")]
    tell(site, turns[1], shortfall_tokens=84, outcome="history_trimmed", fault=False)
    tell(site, turns[2], shortfall_tokens=157, outcome="unknown", fault=False)
    tell(site, turns[3], shortfall_tokens=230, outcome="evicted", fault=True)
    tell(site, turns[4], shortfall_tokens=303, outcome="restarted", fault=True)
    page = mina.open(f"/operator{path}").text
    assert "lost: 533 (5 of 5)" in page  # The first turn could lose nothing.
    assert sums_of_the_shortfall(page) == ("774", {"lost": "533", "on-purpose": "84", "rounding": "157"})


def test_page_tells_what_was_computed_again_on_purpose(site: Site, mina: Visitor) -> None:
    both = talk(site, mina)
    missed = site.rows("SELECT max(shortfall_tokens) FROM turns")[0][0]
    tell(site, both.last, outcome="system_prompt_edited", fault=False)
    page = mina.open(f"/operator{both.path}").text
    cells = table_of(page)[1]
    assert cells["shortfall"] == f"{missed} on purpose: system prompt changed"
    assert cells["outcome"] == "system prompt edited"
    assert "The system prompt was edited." in page
    assert f"Nothing lost in 2 turns; {missed} tokens computed again on purpose." in page
    assert re.search(rf'<rect class="on-purpose"[^>]*data-turn="2" data-tokens="{missed}"', page)
    assert sums_of_the_shortfall(page) == (str(missed), {"lost": "0", "on-purpose": str(missed), "rounding": "0"})
    assert '<rect class="lost"' not in page


def test_lost_tokens_are_told_with_their_cause_and_their_seconds(site: Site, mina: Visitor) -> None:
    both = talk(site, mina)
    lost = site.rows("SELECT max(shortfall_tokens) FROM turns")[0][0]
    told = {"diverged_where": "system", "diverged_offset": 311, "diverged_kind": "date"}
    tell(site, both.last, outcome="volatile_system_prompt", fault=True, **told)
    page = mina.open(f"/operator{both.path}").text
    assert f"1 of 2 turns lost {lost} tokens: turn 2 changing system prompt {lost};" in page
    assert "system prompt, character 312, looks like a date" in page
    assert re.search(rf'<rect class="lost"[^>]*data-turn="2" data-tokens="{lost}"', page)
    tell(site, both.turns[0], input_tokens=1000, prefill_ms=500)
    page = mina.open(f"/operator{both.path}").text
    assert f"1 of 2 turns lost {lost} tokens (about {lost / 2000:.2f} s): turn 2" in page


def test_turns_of_one_branch_are_shown_alone_and_shared_ones_are_marked(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    site.ask(mina, "Two", path)
    mina.open(path)
    again = mina.page.text.rsplit("/regenerate", 1)[0].rsplit('"', 1)[1]
    mina.submit(f"{again}/regenerate")
    site.wait_idle(mina)
    page = mina.open(f"/operator{path}").text
    assert [row["number"] for row in table_of(page)] == ["1", "2", "3"]
    options = re.findall(r'<option value="([0-9a-f-]*)"( selected)?>(.*?)</option>', page)
    assert [(bool(chosen), label) for _, chosen, label in options] == [
        (True, "All branches: 3 turns"),
        (False, "Branch 1: 2 turns"),
        (False, "Branch 2, shown in the chat: 2 turns"),
    ]
    assert page.count('<tr class="shared">') == 1
    assert page.count('<rect class="shared"') == 1
    second = mina.open(f"/operator{path}?branch={options[2][0]}").text
    assert [row["number"] for row in table_of(second)] == ["1", "3"]
    assert "Turns: 2 (2 completed)" in second
    assert f'<option value="{options[2][0]}" selected>' in second
    assert re.search(r'data-total="prompt">\s*\d+<span class="coverage">2 of 2', second)
    wrong = mina.open(f"/operator{path}?branch=first")
    assert wrong.status_code == 400
    assert "“branch” is not one of this conversation" in wrong.text
    assert len(table_of(wrong.text)) == 3


def test_conversation_without_turns_says_so(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    site.rows("DELETE FROM submissions")
    site.rows("DELETE FROM turns")
    page = mina.open(f"/operator{path}").text
    assert "This conversation has no turns yet." in page
    assert "<svg" not in page


def test_deleted_conversation_keeps_its_numbers_for_operators_only(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    mina.open(f"{path}/delete")
    mina.submit(f"{path}/delete")
    page = mina.open(f"/operator{path}")
    assert page.status_code == 200
    assert len(table_of(page.text)) == 1
    assert "The texts of this conversation were deleted; its numbers stay." in page.text
    turn = page.text.split('href="/operator/turns/')[1].split('"')[0]
    shown = mina.open(f"/operator/turns/{turn}").text
    assert "The texts of this turn were deleted; its numbers stay." in shown
    assert "never got an answer" not in shown
    other = site.ask(mina, "Two")
    assert "were deleted" not in mina.open(f"/operator{other}").text
    tagged = re.findall(r'/operator(/conversations/[0-9a-f-]+)\?[^>]*>[^<]*</a>( <span class="tag">deleted)?',
                        mina.open("/operator/conversations?range=all").text)  # fmt: skip
    assert {(link, bool(tag)) for link, tag in tagged} == {(path, True), (other, False)}
    assert mina.open(f"{path}/cache").status_code == 404


def test_owner_finds_the_same_figures_in_the_menu_of_the_conversation(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    path = site.ask(jun, "One")
    assert f'href="{path}/cache"' in jun.open(path).text
    own, seen = jun.open(f"{path}/cache").text, mina.open(f"/operator{path}").text
    assert table_of(own) == table_of(seen)
    assert re.findall(r'<p class="verdict">(.*?)</p>', own) == re.findall(r'<p class="verdict">(.*?)</p>', seen)
    assert 'class="conversation-title" dir="auto">One<' in own
    assert "/operator" not in own
    assert "jun" in seen
    assert mina.open(f"{path}/cache").status_code == 404


def test_way_through_the_ranking_is_kept_for_those_who_came_from_there(site: Site, mina: Visitor) -> None:
    first, second, third = (site.ask(mina, "One") for _ in range(3))
    for path, tokens in ((first, 5), (second, 9), (third, 1)):
        turn = mina.open(f"/operator{path}").text.split('href="/operator/turns/')[1].split('"')[0]
        assert "/operator/conversations?" not in mina.page.text
        tell(site, turn, shortfall_tokens=tokens, fault=True, outcome="evicted")
    page = mina.open(f"/operator{first}?range=7d&sort=lost").text
    assert f'href="/operator{second}?range=7d&amp;sort=lost"' in page
    assert f'href="/operator{third}?range=7d&amp;sort=lost"' in page
    assert 'href="/operator/conversations?range=7d&amp;sort=lost"' in page
    assert "Previous in the ranking" not in mina.open(f"/operator{second}?range=7d&sort=lost").text
    assert "Next in the ranking" not in mina.open(f"/operator{third}?range=7d&sort=lost").text
    wrong = mina.open(f"/operator{first}?sort=best")
    assert wrong.status_code == 400
    assert "“sort”" in wrong.text


def test_marks_of_the_turns_in_between_stand_in_the_table_too(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    site.ask(mina, "Two", path)
    site.ask(mina, "Three", path)
    turns = [str(UUID(row[0])) for row in site.rows("SELECT id FROM turns ORDER BY id")]
    for turn, serving_id in zip(turns, ("a", "a", "b"), strict=True):
        tell(site, turn, serving_id=serving_id)
    tell(site, turns[1], finished_at="2026-01-01 00:00:00.000000")
    page = mina.open(f"/operator{path}").text
    rows = table_of(page)
    assert [row["backend"] for row in rows] == ["scripted", "scripted", "scripted · new serving id"]
    assert " h " in rows[2]["idle"]
    assert re.findall(r'<g class="mark (\w+)">\s*<title>(.*?)</title>', page) == [
        ("idle", "Turn 3: idle for over 5 minutes"), ("serving", "Turn 3: new serving id"),
    ]  # fmt: skip


def test_no_mark_of_the_chart_is_the_point_of_a_first_token(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    legend, drawing = mina.open(f"/operator{path}").text.split("<figcaption>")[1].split("</figcaption>")
    shapes = re.findall(r'<svg class="mark (\w+)".*?<(path|circle) ([^>]*)/>', legend, re.DOTALL)
    assert [(mark, shape) for mark, shape, _ in shapes] == [("idle", "path"), ("cut", "path"), ("serving", "path")]
    assert len({drawn for _, _, drawn in shapes}) == 3
    points = re.findall(r'<circle class="([\w-]+)"', legend + drawing)
    assert points == ["first-token", "first-token"]  # Its key, and the one of the only turn.


def test_cells_name_minimum_and_errors() -> None:
    turn = counted(40, 16, 4, expected_read_tokens=30, expected_is_minimum=True, shortfall_tokens=14, status="failed",
                   stop_reason=None, error_type="overloaded", time_to_first_token_ms=500, duration_ms=1500)  # fmt: skip
    cells = cells_of(row(2, turn), load_languages()["en"], "Asia/Seoul")
    assert (cells.expected, cells.state, cells.speed) == ("≥ 30", "failed · overloaded", "3.0 tok/s")
    assert cells.at.endswith("9:00:00\u202fPM KST")


def test_changed_system_prompt_is_lost_on_purpose() -> None:
    edited = counted(1300, 100, expected_read_tokens=1389, shortfall_tokens=1289, outcome=Outcome.SYSTEM_PROMPT_EDITED)
    missed = counted(60, 30, expected_read_tokens=40, shortfall_tokens=10, outcome=Outcome.EVICTED, fault=True)
    totals = totals_of([edited, missed, counted(16, 0)])
    assert (totals.shortfall, totals.on_purpose) == (Total(1299, 2), Total(1289, 1))
    assert (totals.lost, totals.rounding) == (Total(10, 3), Total(None, 0))
    english, korean = (cells_of(row(2, edited), load_languages()[tag], "UTC").shortfall for tag in ("en", "ko"))
    assert english == "1,289 on purpose: system prompt changed"
    assert korean == "1,289 의도됨: 시스템 프롬프트 변경"


def test_another_model_is_lost_on_purpose() -> None:
    switched = counted(1300, 0, expected_read_tokens=1289, shortfall_tokens=1289, outcome=Outcome.MODEL_SWITCHED)
    assert totals_of([switched]).on_purpose == Total(1289, 1)
    english, korean = (cells_of(row(2, switched), load_languages()[tag], "UTC").shortfall for tag in ("en", "ko"))
    assert english == "1,289 on purpose: another model"
    assert korean == "1,289 의도됨: 다른 모델"
