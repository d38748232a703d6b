"""One turn: its outcome, its time, where its prompt became another one, its tokens, and where the model looked."""

import re
from uuid import uuid4

import pytest

from app.web.cache_pages.time_split import time_split_of
from tests.app.web.cache_pages.conftest import OpenShowing
from tests.app.web.cache_pages.strips import strip_of_page
from tests.app.web.cache_pages.talks import PIECES, talk, tell
from tests.app.web.figures import figures
from tests.app.web.page_walker import text_of_page
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, ShownMessage, delta, ending, error_reply, message_start


@pytest.fixture
def owner(showing: Site) -> Visitor:
    return showing.set_up()


def test_owner_sees_outcome_divergence_and_every_token(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner)
    lost = showing.rows("SELECT max(shortfall_tokens) FROM turns")[0][0]
    told = {"diverged_where": "system", "diverged_offset": 3, "diverged_kind": "other", "diverged_token": 3}
    tell(showing, both.last, outcome="volatile_system_prompt", fault=True, server_outcome="changed",
         server_expected_tokens=777, **told)  # fmt: skip
    page = owner.open(f"{both.path}/cache/turns/{both.last}")
    text = " ".join(text_of_page(page.text).split())
    assert page.status_code == 200
    assert "changing system prompt" in text
    assert "Take what changes by itself out of the system prompt." in text
    assert f"{lost} tokens were lost." in text
    assert re.search(r"<code>\s*changed\s*</code>", page.text)
    assert re.search(r"<dt>\s*The server had expected\s*</dt>\s*<dd>\s*777\s*</dd>", page.text)
    assert "system prompt, character 4, looks like other text" in text
    passages = re.findall(r'<p class="passage" dir="auto">(.*?)</p>', page.text, re.DOTALL)
    assert ["".join(each.split("\n")) for each in passages] == [
        'Be <mark class="nothing">nothing here</mark>terse.', "Be <mark>very </mark>terse.",
    ]  # fmt: skip
    shown = [(at, state, number, piece.replace("\n", "↵").replace("<", "&lt;").replace(">", "&gt;"))
             for at, (_, state, number, piece) in enumerate(PIECES)]  # fmt: skip
    assert strip_of_page(page.text) == shown
    assert "system prompt · from cache · 1–2" in text
    assert "answer · generated · 5–6" in text
    assert re.search(r'<li class="token computed diverged"\s+id="t3"', page.text)
    assert f'href="{both.path}/cache/turns/{both.turns[0]}"' in page.text


def test_law_mismatch_is_an_alarm(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner)
    assert 'role="alert"' not in owner.open(f"/operator/turns/{both.last}").text
    tell(showing, both.last, law_mismatch=True, server_expected_tokens=5)
    page = owner.open(f"/operator/turns/{both.last}").text
    assert 'role="alert"' in page
    assert "had expected to read 5 tokens" in page


def test_attention_is_asked_for_by_form_and_sums_to_one(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner)
    path = f"{both.path}/cache/turns/{both.last}"
    assert "data-attention" not in owner.open(path).text
    flat = owner.open(f"{path}?position=4&layer=0&head=mean").text
    rows = re.findall(r'<th scope="row">\s*<a[^>]*>(\d+)</a>.*?data-weight>([\d.]+)%', flat, re.DOTALL)
    assert sorted(rows) == [(str(at), "20.00") for at in range(5)]
    assert "60.00% of the weight lies on positions that came from the cache, 40.00% on those" in flat
    assert "All together: 1.000" in flat
    deep = owner.open(f"{path}?position=4&layer=2&head=1").text
    rows = re.findall(r'<th scope="row">\s*<a[^>]*>(\d+)</a>.*?data-weight>([\d.]+)%', deep, re.DOTALL)
    assert rows[0] == ("0", "40.00")
    assert "Position 4, layer 2, head 1." in deep
    marked = re.findall(r'<li class="token (?:\w+) ?([^"]*)"\s+id="t(\d)"', deep)
    assert marked == [
        ("looked-3", "0"), ("looked-2", "1"), ("looked-2", "2"), ("looked-2", "3"), ("looked-2 asking", "4"),
        ("", "5"), ("", "6"),
    ]  # fmt: skip


def test_every_link_of_the_strip_can_be_followed(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner, prompts=("Be terse.",))
    page = owner.open(f"/operator/turns/{both.last}").text
    links = re.findall(r'<li class="token.*?href="[^?"]*\?position=(\d+)[^"]*"', page, re.DOTALL)
    assert links == ["0", "1", "2", "3", "4", "5"]  # The last of the seven tokens has no KV.
    assert page.count("Without KV: nothing was computed after it") == 1
    assert owner.open(f"/operator/turns/{both.last}?position=5").status_code == 200


def test_wrong_value_is_refused_with_its_field_and_kept(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner, prompts=("Be terse.",))
    wrong = {
        "position=6": "0–5",
        "position=first": "0–5",
        "position=1&layer=4": "0–3",
        "position=1&layer=-1": "a number from 0 on",
        "position=1&head=2": "0–1, or mean",
        "position=1&head=most": "a number from 0 on, or mean",
        "from=start": "0–6",
    }
    for query, allowed in wrong.items():
        response = owner.open(f"/operator/turns/{both.last}?{query}")
        name, _, value = query.rpartition("&")[2].partition("=")
        assert response.status_code == 400, query
        assert f"“{name}” in the address is not usable. Allowed: {allowed}." in response.text
        assert len(strip_of_page(response.text)) == len(PIECES)
        if name != "from":
            assert owner.form(f"/operator/turns/{both.last}#attention").fields[name] == value


def test_long_strip_comes_in_pages(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner, prompts=("Be terse.",))
    message_id = showing.rows("SELECT backend_message_id FROM turns")[0][0]
    long = [("messages.0", "cached" if at < 1500 else "computed", at, f"w{at}") for at in range(2100)]
    showing.backend.shown[message_id] = ShownMessage(long)
    path = f"{both.path}/cache/turns/{both.last}"
    first = owner.open(path).text
    assert [token[0] for token in strip_of_page(first)] == list(range(1000))
    assert re.findall(r'aria-current="page">(.*?)<', first) == ["0–999"]
    assert "1,000–1,999" in first
    assert "2,000–2,099" in first
    second = strip_of_page(owner.open(f"{path}?from=1234").text)
    assert [token[0] for token in second] == list(range(1000, 2000))
    assert [token[1] for token in second].count("cached") == 500
    assert strip_of_page(owner.open(f"{path}?position=2050").text)[0][0] == 2000
    assert strip_of_page(owner.open(f"{path}?from=999999").text)[-1][0] == 2099


def test_page_without_record_says_so_and_shows_what_sql_has(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner)
    showing.backend.shown.clear()
    page = owner.open(f"/operator/turns/{both.last}").text
    assert "has no record of this message any more" in page
    assert strip_of_page(page) == []
    prompt = showing.rows("SELECT sum(input_tokens + cache_read_input_tokens) FROM turns")[0][0]
    assert prompt
    assert re.search(r"<dt>\s*Prompt\s*</dt>\s*<dd>\s*\d+\s*</dd>", page)


def test_server_that_refuses_or_is_silent_is_named(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner, prompts=("Be terse.",))
    message_id = showing.rows("SELECT backend_message_id FROM turns")[0][0]
    path = f"/v1/messages/{message_id}/tokens"
    showing.backend.script(error_reply(401, "authentication_error"), path=path)
    assert "with the key that it was given" in owner.open(f"/operator/turns/{both.last}").text
    held = Gate()
    for _ in range(5):  # What fails at first may be tried again.
        showing.backend.script(held, path=path)
    assert "did not answer in time" in owner.open(f"/operator/turns/{both.last}").text
    held.open()


def test_evicted_kv_leaves_the_strip(showing: Site, owner: Visitor) -> None:
    both = talk(showing, owner, prompts=("Be terse.",))
    message_id = showing.rows("SELECT backend_message_id FROM turns")[0][0]
    showing.backend.script(error_reply(410, "not_found_error"), path=f"/v1/messages/{message_id}/attention")
    page = owner.open(f"{both.path}/cache/turns/{both.last}?position=1").text
    assert "has been evicted" in page
    assert len(strip_of_page(page)) == len(PIECES)


def test_server_without_inspection_is_not_asked(site: Site, mina: Visitor) -> None:
    both = talk(site, mina, prompts=("Be terse.",))
    assert "does not show its tokens" in mina.open(f"/operator/turns/{both.last}").text
    assert not [request for request in site.backend.requests if request.path.endswith("/tokens")]


def test_turn_that_never_reached_a_server_is_shown(showing: Site, owner: Visitor) -> None:
    showing.backend.script(error_reply(400, "invalid_request_error"))
    path = showing.ask(owner, "One")
    turn = owner.open(f"/operator{path}").text.split('href="/operator/turns/')[1].split('"')[0]
    page = owner.open(f"/operator/turns/{turn}").text
    assert "never got an answer that a model server could tell of" in page
    assert "failed · invalid_request" in page


def test_running_turn_is_not_said_to_have_ended(showing: Site, owner: Visitor) -> None:
    gate = Gate()
    showing.backend.script(message_start(), delta("a"), gate, *ending(output_tokens=2))
    owner.open("/")
    owner.submit("/conversations", text="One")
    gate.wait_arrived()
    turn, path = owner.turn_id, owner.page.request.url.path
    running = owner.open(f"/operator/turns/{turn}").text
    assert "The answer is still being written." in running
    assert "never got an answer" not in running
    assert "when the turn ended" not in running
    gate.open()
    owner.open(path)
    showing.wait_idle(owner)
    ended = owner.open(f"/operator/turns/{turn}").text
    assert "still being written" not in ended
    assert "The numbers above were stored when the turn ended." in ended


def test_pages_of_foreign_and_missing_turns_are_not_there(open_showing: OpenShowing) -> None:
    site = open_showing()
    mina, jun = site.set_up(), site.user("jun")
    own, other = talk(site, jun), talk(site, jun)
    assert jun.open(f"{own.path}/cache/turns/{own.last}").status_code == 200
    assert jun.open(f"{own.path}/cache/turns/{other.last}").status_code == 404
    assert jun.open(f"{own.path}/cache/turns/{uuid4()}").status_code == 404
    assert jun.open(f"/operator/turns/{own.last}").status_code == 404
    assert mina.open(f"{own.path}/cache/turns/{own.last}").status_code == 404
    assert mina.open(f"/operator/turns/{uuid4()}").status_code == 404
    assert mina.open(f"/operator/turns/{own.last}").status_code == 200


def test_time_is_split_into_parts_of_one_bar() -> None:
    told = figures(queued_ms=10, admission_ms=40, prefill_ms=150, time_to_first_token_ms=200, duration_ms=1000)
    split = time_split_of(told)
    assert [(part.name, part.milliseconds) for part in split.parts] == [
        ("queued", 10), ("admission", 40), ("prefill", 150), ("decode", 800),
    ]  # fmt: skip
    assert [(part.x, part.width) for part in split.parts] == [(0, 10), (10, 40), (50, 150), (200, 800)]


def test_what_a_server_does_not_tell_apart_is_one_part_and_what_never_came_none() -> None:
    together = time_split_of(figures(queued_ms=50, time_to_first_token_ms=200, duration_ms=1000))
    assert [(part.name, part.milliseconds) for part in together.parts] == [
        ("queued", 50), ("waiting", 150), ("decode", 800),
    ]  # fmt: skip
    never = time_split_of(figures(queued_ms=None))
    assert [(part.milliseconds, part.width) for part in never.parts] == [(None, 0)] * 4
