"""The meter at the composer and the line of the cut: numbers where they are known, nothing where not."""

import time
from typing import Any

import pytest

from app.settings import Backend
from app.web.languages import load_languages
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, answer, delta, ending, message_start

CUT = "Older messages are no longer sent"
REFUSED = "With the system prompt this needs 2,0"


@pytest.fixture
def site(open_site: OpenSite, backend_url: str) -> Site:
    backend = Backend(name="scripted", base_url=backend_url, early_message_start=True, context_window=2000)
    return open_site(backends=(backend,), answer_tokens=200)


def usage(prompt: int) -> dict[str, Any]:
    return {"input_tokens": prompt, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def test_meter_shows_prompt_and_output_of_the_last_counted_turn(site: Site, mina: Visitor) -> None:
    site.backend.script(*answer("One", usage=usage(1230), output_tokens=4))
    path = site.ask(mina, "Hello")
    assert "Context window: 1,234 of 2,000 tokens" in mina.open(path).text
    assert 'value="1234"' in mina.page.text
    gate = Gate()
    site.backend.script(message_start(), gate, *answer("Two", usage={}))
    mina.submit(f"{path}/messages", text="Next")
    gate.wait_arrived()
    assert "Context window: 1,234 of 2,000 tokens" in mina.open(path).text
    gate.open()
    site.wait_idle(mina)
    assert "Context window: 1,234 of 2,000 tokens" in mina.open(f"{path}/context").text
    assert "<article" not in mina.page.text


def test_meter_of_an_answer_of_unknown_length_says_at_least(site: Site, mina: Visitor) -> None:
    gate = Gate()
    site.backend.script(message_start(usage=usage(1230)), delta("One"), gate, *ending(output_tokens=4))
    mina.open("/")
    mina.submit("/conversations", text="Hello")
    gate.wait_arrived()
    path = mina.page.request.url.path
    mina.open(path)
    mina.submit(f"/turns/{mina.turn_id}/stop")
    site.wait_idle(mina)
    assert "Context window: at least 1,230 of 2,000 tokens" in mina.open(path).text


def test_meter_speaks_korean(site: Site) -> None:
    visitor = site.set_up("ko")
    site.backend.script(*answer("One", usage=usage(90), output_tokens=10))
    path = site.ask(visitor, "안녕하세요")
    assert "컨텍스트 창: 2,000토큰 가운데 100토큰" in visitor.open(path).text


def test_no_meter_without_a_window_or_a_count(open_site: OpenSite, backend_url: str, site: Site, mina: Visitor) -> None:
    site.backend.script(*answer("One", usage={}))
    path = site.ask(mina, "Hello")
    assert "<meter" not in mina.open(path).text
    unknown = open_site()
    del unknown.backend.models[0]["max_input_tokens"]
    other = unknown.set_up()
    path = unknown.ask(other, "Hello")
    assert "<meter" not in other.open(path).text
    assert other.open(f"{path}/context").status_code == 200


def test_the_window_comes_from_the_model_list_where_it_is_not_set(open_site: OpenSite) -> None:
    site = open_site()
    visitor = site.set_up()
    path = site.ask(visitor, "Hello")
    assert " of 8,192 tokens" in visitor.open(path).text


def test_the_meter_comes_behind_a_page_that_was_opened_before_the_window_was_asked_for(
    open_site: OpenSite, backend_url: str
) -> None:
    """As after a restart; with a model of the settings no turn asks for the list."""
    site = open_site(backends=(Backend(name="scripted", base_url=backend_url, model="scripted"),))
    visitor = site.set_up()
    visitor.open("/")
    path = visitor.send_as_script("/conversations", "Hello", "key-1").headers["location"]
    while "running-dot" in visitor.open("/sidebar").text:
        time.sleep(0.02)
    page = visitor.open(path).text
    assert "<meter" not in page
    assert "data-context-comes" in page
    assert " of 8,192 tokens" in visitor.open(f"{path}/context").text
    page = visitor.open(path).text
    assert " of 8,192 tokens" in page
    assert "data-context-comes" not in page


def test_the_cut_is_shown_before_the_first_message_that_is_still_sent(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "first " + "word " * 800)
    site.ask(mina, "second " + "word " * 400, path)
    assert CUT not in mina.open(path).text
    site.ask(mina, "third " + "word " * 700, path)
    page = mina.open(path).text
    assert page.count(CUT) == 1
    assert page.index("first word") < page.index(CUT) < page.index("third word")
    sent = [message["content"][:6] for message in site.backend.questions[-1].json()["messages"]]
    assert sent[0] == page.split(CUT)[1].split('dir="auto">')[1][:6]
    fragment = mina.open(f"{path}/context").text
    first = page.split(CUT)[1].split('id="message-')[1].split('"')[0]
    assert f'data-cut-before="message-{first}"' in fragment
    operator = mina.open(f"/operator{path}").text
    assert "on purpose: older messages left out" in operator


def test_a_message_that_cannot_fit_comes_back_with_its_text_and_numbers(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    long = "paste " * 2000 + "tail"
    for action, page in (("/conversations", "/"), (f"{path}/messages", path)):
        mina.open(page)
        response = mina.submit(action, text=long)
        assert response.status_code == 400
        assert REFUSED in response.text
        assert "at most 1,800 fit beside an answer of 200." in response.text
        assert "paste tail" in response.text
    assert len(site.backend.questions) == 1


def test_a_system_prompt_that_cannot_fit_comes_back_too(site: Site, mina: Visitor) -> None:
    mina.open("/")
    response = mina.submit("/conversations", text="Hello", system_prompt="rule " * 2000 + "end")
    assert "The system prompt needs 2,0" in response.text
    assert "rule end" in response.text
    assert site.backend.questions == []


def test_the_words_of_a_cut_are_korean_too() -> None:
    assert "더 이상 보내지 않습니다" in load_languages()["ko"].gettext(
        "Older messages are no longer sent: they do not fit the context window."
    )
