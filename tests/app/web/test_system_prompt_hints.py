"""The system prompt's editor says what changes in it and what a change costs. It never blocks."""

import sqlite3

from app.web.languages import load_languages
from app.web.system_prompt_hints import hints_of
from tests.app.web.figures import counted, figures
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import answer

ENGLISH = load_languages()["en"]
KOREAN = load_languages()["ko"]
WARNING = "These parts look as if they change"


def test_hints_name_what_was_found_with_kind_and_line() -> None:
    hints = hints_of("Be nice.\nToday is 2026-11-29, {{ current_time }}.", None, None, ENGLISH)
    assert hints.found == ("2026-11-29 (a date, line 2)", "{{ current_time }} (a placeholder, line 2)")
    assert (hints.more, hints.cost_per_turn, hints.cost_of_change) == (0, None, None)
    assert hints_of("12:34", None, None, KOREAN).found == ("12:34 (시각, 1번째 줄)",)


def test_hints_show_a_few_and_count_the_others() -> None:
    hints = hints_of("12:34 " * 9 + "{{" + "x" * 60 + "}}", None, None, ENGLISH)
    assert (len(hints.found), hints.more) == (5, 5)
    (long,) = hints_of("{{" + "x" * 60 + "}}", None, None, ENGLISH).found
    assert long.startswith("{{xxx")
    assert "…" in long


def test_costs_are_tokens_and_seconds_where_the_speed_was_measured() -> None:
    last = counted(200, 1000, 34)
    hints = hints_of("12:34", last, 600.0, ENGLISH)
    assert hints.cost_per_turn == "about 1,200 tokens (about 2.00 s)"
    assert hints.cost_of_change == "about 1,234 tokens (about 2.06 s)"
    assert hints_of("12:34", last, None, ENGLISH).cost_per_turn == "about 1,200 tokens"
    assert hints_of("12:34", counted(200, 1000, None), None, ENGLISH).cost_of_change == "about 1,200 tokens"
    assert hints_of("12:34", figures(), 600.0, ENGLISH).cost_of_change is None


def test_new_page_warns_when_it_comes_back_and_not_before(site: Site, mina: Visitor) -> None:
    assert WARNING not in mina.open("/").text
    page = mina.submit("/conversations", text=" ", system_prompt="It is 12:34.").text
    assert WARNING in page
    assert "12:34 (a time, line 1)" in page


def test_saving_a_changing_system_prompt_shows_the_warning_and_saves(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    assert WARNING not in mina.open(path).text
    response = mina.submit(f"{path}/system-prompt", system_prompt="Today is {date}.")
    assert response.headers["location"] == f"{path}?settings=open"
    assert WARNING in mina.page.text
    assert "{date} (a placeholder, line 1)" in mina.page.text
    assert '<details class="settings" open>' in mina.page.text
    assert "The system prompt has parts that change" in mina.open(path).text
    site.ask(mina, "Next", path)
    assert site.backend.questions[-1].json()["system"] == "Today is {date}."
    mina.open(path)
    assert mina.submit(f"{path}/system-prompt", system_prompt="Be nice.").headers["location"] == path
    assert WARNING not in mina.page.text


def test_costs_come_from_the_last_turn_and_the_measured_speed(site: Site, mina: Visitor) -> None:
    usage = {"input_tokens": 400, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    site.backend.script(*answer("One", usage=usage, output_tokens=10))
    path = site.ask(mina, "Hello")
    with sqlite3.connect(site.database_file) as connection:
        connection.execute("UPDATE turns SET prefill_ms = 800")
    connection.close()
    assert "A change now: about 410 tokens (about 0.82 s) to compute again" in mina.open(path).text
    mina.submit(f"{path}/system-prompt", system_prompt="It is 12:34.")
    assert "Here one turn would cost about 400 tokens (about 0.80 s)." in mina.page.text


def test_a_found_value_is_shown_as_text(site: Site, mina: Visitor) -> None:
    mina.open("/")
    page = mina.submit("/conversations", text=" ", system_prompt="{{<script>alert(1)</script>}}").text
    assert "<script>alert" not in page
    assert "{{&lt;script&gt;alert(1)&lt;/script&gt;}} (a placeholder" in page


def test_our_script_gets_the_warning_alone_while_one_types(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    mina.open(path)
    token = mina.form_token
    own = path.rsplit("/", 1)[1]
    new = mina.post("/system-prompt/check", form_token=token, system_prompt="It is 12:34.")
    assert "12:34 (a time, line 1)" in new.text
    assert "one turn would cost" not in new.text
    assert "<html" not in new.text
    here = mina.post("/system-prompt/check", form_token=token, system_prompt="It is 12:34.", conversation_id=own)
    assert "Here one turn would cost about" in here.text
    assert mina.post("/system-prompt/check", form_token=token, system_prompt="Be nice.").text.strip() == ""
    assert WARNING not in mina.open(path).text


def test_costs_of_somebody_elses_conversation_are_not_told(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    jun = site.user("jun")
    jun.open("/")
    for named in (path.rsplit("/", 1)[1], "no-id"):
        response = jun.post(
            "/system-prompt/check", form_token=jun.form_token, system_prompt="12:34", conversation_id=named
        )
        assert response.status_code == 404
    assert jun.post("/system-prompt/check", system_prompt="12:34").status_code == 403
