"""Edit, ask again, branches, copy and delete in the browser without script, and what our script gets."""

import re

import pytest

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor, forms_of
from tests.scripted_backend import Gate, answer, error_reply, message_start


@pytest.fixture
def talk(site: Site, mina: Visitor) -> str:
    """The path of a conversation with one question and its answer."""
    return site.ask(mina, "What is this?")


def message_ids(visitor: Visitor) -> list[str]:
    return re.findall(r'id="message-([^"]+)"', visitor.page.text)


def bubbles(visitor: Visitor) -> list[str]:
    return re.findall(r'<div class="bubble plain" dir="auto">([^<]*)</div>', visitor.page.text)


def press(site: Site, visitor: Visitor, path: str) -> None:
    visitor.submit(path)
    site.wait_idle(visitor)


def test_edit_opens_the_words_and_sends_them_as_a_new_version(site: Site, mina: Visitor, talk: str) -> None:
    question = message_ids(mina)[0]
    mina.open(f"{talk}?edit={question}")
    assert mina.form(f"{talk}/messages/{question}/edit").fields["text"] == "What is this?"
    mina.submit(f"{talk}/messages/{question}/edit", text="What was that?")
    site.wait_idle(mina)
    assert bubbles(mina) == ["What was that?"]
    assert "2/2" in mina.page.text
    press(site, mina, f"{talk}/messages/{question}/select")
    assert bubbles(mina) == ["What is this?"]
    assert "1/2" in mina.page.text


def test_edit_that_is_refused_comes_back_with_its_words(mina: Visitor, talk: str) -> None:
    question = message_ids(mina)[0]
    mina.open(f"{talk}?edit={question}")
    response = mina.submit(f"{talk}/messages/{question}/edit", text="x" * 40_000)
    assert response.status_code == 400
    assert mina.form(f"{talk}/messages/{question}/edit").fields["text"] == "x" * 40_000
    assert "40,000 characters" in mina.page.text


def test_edit_during_an_answer_is_refused_and_its_words_come_back(site: Site, mina: Visitor, talk: str) -> None:
    question = message_ids(mina)[0]
    mina.open(f"{talk}?edit={question}")
    edit = mina.form(f"{talk}/messages/{question}/edit").fields
    gate = Gate()
    site.backend.script(message_start(), gate, *answer("x"))
    mina.submit(f"{talk}/messages", text="More")
    gate.wait_arrived()
    response = mina.post(f"{talk}/messages/{question}/edit", **{**edit, "text": "Better words"})
    assert response.status_code == 409
    assert "Better words" in response.text
    assert "/stop" in response.text
    gate.open()
    site.wait_idle(mina)


def test_another_answer_stands_beside_the_first(site: Site, mina: Visitor, talk: str) -> None:
    first = message_ids(mina)[1]
    press(site, mina, f"{talk}/messages/{first}/regenerate")
    second = message_ids(mina)[1]
    assert first != second
    assert "2/2" in mina.page.text
    mina.open(f"{talk}?leaf={first}")
    assert message_ids(mina)[1] == first
    mina.open(talk)
    assert message_ids(mina)[1] == second


def test_failed_answer_offers_to_try_again(site: Site, mina: Visitor) -> None:
    site.backend.script(error_reply(400, "invalid_request_error"))
    talk = site.ask(mina, "Hello")
    failed = message_ids(mina)[1]
    assert "The model server refused the request." in mina.page.text
    press(site, mina, f"{talk}/messages/{failed}/retry")
    assert message_ids(mina)[1] == failed
    assert "The model server refused the request." not in mina.page.text


def test_cut_answer_is_continued_and_says_so(site: Site, mina: Visitor) -> None:
    site.backend.script(*answer("One, two", stop_reason="max_tokens"))
    talk = site.ask(mina, "Count")
    cut = message_ids(mina)[1]
    site.backend.script(*answer(", three"))
    press(site, mina, f"{talk}/messages/{cut}/continue")
    assert "<p>One, two, three</p>" in mina.page.text
    assert "in 2 parts" in mina.page.text
    assert f"{talk}/messages/{cut}/continue" not in mina.page.text
    response = mina.post(f"{talk}/messages/{cut}/continue", form_token=mina.form_token, submission_key="again")
    assert response.status_code == 409


def test_answer_with_something_below_cannot_be_continued(site: Site, mina: Visitor) -> None:
    site.backend.script(*answer("One, two", stop_reason="max_tokens"))
    talk = site.ask(mina, "Count")
    cut = message_ids(mina)[1]
    site.ask(mina, "Thanks", talk)
    response = mina.post(f"{talk}/messages/{cut}/continue", form_token=mina.form_token, submission_key="again")
    assert response.status_code == 409
    assert "This answer cannot be continued." in response.text


def test_script_gets_the_whole_branch(site: Site, mina: Visitor, talk: str) -> None:
    question, first = message_ids(mina)
    site.ask(mina, "Second", talk)
    response = mina.post(
        f"{talk}/messages/{first}/regenerate",
        headers={"recount-fragment": "1"},
        form_token=mina.form_token,
        submission_key="k1",
    )
    assert response.status_code == 200
    assert response.text.count("<article") == 2
    assert question in response.text
    assert "<html" not in response.text
    refused = mina.post(
        f"{talk}/messages/{question}/retry",
        headers={"recount-fragment": "1"},
        form_token=mina.form_token,
        submission_key="k2",
    )
    assert refused.status_code == 404
    site.wait_idle(mina)


def test_text_of_a_message_is_its_source(site: Site, mina: Visitor) -> None:
    site.backend.script(*answer("**bold**\n\n<script>alert(1)</script>"))
    talk = site.ask(mina, "Say <b>")
    question, said = message_ids(mina)
    response = mina.open(f"{talk}/messages/{said}/text")
    assert response.text == "**bold**\n\n<script>alert(1)</script>"
    assert response.headers["content-type"].startswith("text/plain")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert mina.open(f"{talk}/messages/{question}/text").text == "Say <b>"


def test_deleting_asks_first_and_gives_the_count(site: Site, mina: Visitor, talk: str) -> None:
    first = message_ids(mina)[1]
    site.ask(mina, "Second", talk)
    mina.open(f"{talk}/messages/{first}/delete")
    assert "3 messages are deleted" in mina.page.text
    mina.submit(f"{talk}/messages/{first}/delete")
    assert bubbles(mina) == ["What is this?"]
    question = message_ids(mina)[0]
    press(site, mina, f"{talk}/messages/{question}/regenerate")
    assert len(message_ids(mina)) == 2


def test_last_question_alone_can_get_an_answer_but_earlier_ones_cannot(site: Site, mina: Visitor, talk: str) -> None:
    actions = [form.action for form in forms_of(mina.page.text)]
    question, first = message_ids(mina)
    assert f"{talk}/messages/{question}/regenerate" not in actions
    assert f"{talk}/messages/{first}/regenerate" in actions
    assert f"{talk}/messages/{first}/continue" not in actions


def test_next_question_stands_below_what_the_page_shows(site: Site, mina: Visitor, talk: str) -> None:
    first = message_ids(mina)[1]
    press(site, mina, f"{talk}/messages/{first}/regenerate")
    mina.open(f"{talk}?leaf={first}")
    mina.submit(f"{talk}/messages", text="About the first one")
    site.wait_idle(mina)
    assert message_ids(mina)[1] == first
    assert bubbles(mina)[-1] == "About the first one"


@pytest.mark.parametrize("query", ["?leaf=nothing", "?edit=1", "?leaf=00000000-0000-0000-0000-000000000000"])
def test_address_with_an_unknown_message_shows_the_conversation(mina: Visitor, talk: str, query: str) -> None:
    assert mina.open(talk + query).status_code == 200
    assert bubbles(mina) == ["What is this?"]
