"""A model server that fails or falls silent: the words are kept, the reason is ours, and trying again works."""

import re
from dataclasses import replace

import pytest

from app.turns.rhythm import Rhythm
from inference_client import Timeouts
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, Step, delta, error_reply, head, message_start, ping

WORDS = "Words of mine\n  with <b>markup</b>"
SECRET = "SECRET words of the backend"
REPLY = error_reply(500, "api_error", SECRET, headers={"retry-after": "0"})
# The client tries three times where the server has failed outright.
FAILURES: dict[str, tuple[list[list[Step]], str, str]] = {
    "http 500": ([[REPLY]] * 3, "failed", "The model server failed."),
    "no headers": ([[Gate()]], "failed", "The model server fell silent."),
    "headers only": ([[head(), Gate()]], "failed", "The model server fell silent."),
    "no first token": (
        [[message_start(), ping(), Gate()]],
        "failed",
        "The model server did not begin to answer in time.",
    ),
    "silence in mid answer": (
        [[message_start(), delta("Half"), Gate()]],
        "interrupted",
        "The model server fell silent.",
    ),
}


def impatient(open_site: OpenSite, *, silence: float, first_token: float) -> Site:
    timeouts = Timeouts(first_event=silence, first_token=first_token, idle=silence)
    return open_site(rhythm=replace(Rhythm(), timeouts=timeouts))


def ids_of(visitor: Visitor) -> list[str]:
    return re.findall(r'id="message-([^"]+)"', visitor.page.text)


@pytest.mark.parametrize("failure", FAILURES)
def test_failed_answer_keeps_the_words_says_why_and_can_be_tried_again(open_site: OpenSite, failure: str) -> None:
    scripts, status, reason = FAILURES[failure]
    patience = (60, 1.2) if failure == "no first token" else (1.2, 60)
    site = impatient(open_site, silence=patience[0], first_token=patience[1])
    mina = site.set_up()
    for steps in scripts:
        site.backend.script(*steps)
    path = site.ask(mina, WORDS)
    page = mina.page.text
    assert "Words of mine\n  with &lt;b&gt;markup&lt;/b&gt;</div>" in page
    assert f'<p class="problem">{reason}' in page
    assert SECRET not in page
    assert ("Half" in page) is (status == "interrupted")
    assert site.rows("SELECT status FROM turns") == [(status,)]
    assert f'data-cell="state">{status}' in mina.open(f"/operator{path}").text
    mina.open(path)
    assert mina.submit(f"{path}/messages/{ids_of(mina)[1]}/retry").status_code == 303
    site.wait_idle(mina)
    assert "This is answer number 1." in mina.page.text
    assert site.rows("SELECT text FROM messages WHERE role = 'user'") == [(WORDS,)]
    (message,) = site.backend.questions[-1].json()["messages"]
    assert message["content"].startswith(f"{WORDS}\n\n<context-note>")
    assert site.backend.questions[0].body == site.backend.questions[-1].body


def test_edited_question_replaces_the_one_whose_answer_failed(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "First")
    site.backend.script(error_reply(400, "invalid_request_error", SECRET))
    site.ask(mina, "Second, with a mistake", path)
    failed = ids_of(mina)[2]
    mina.open(f"{path}?edit={failed}")
    mina.submit(f"{path}/messages/{failed}/edit", text="Second, mended")
    site.wait_idle(mina)
    site.ask(mina, "Third", path)
    edited, third = (question.json()["messages"] for question in site.backend.questions[-2:])
    assert [message["role"] for message in edited] == ["user", "assistant", "user"]
    assert edited[2]["content"].startswith("Second, mended\n\n<context-note>")
    assert third[:3] == edited
    assert "mistake" not in str(third)
    assert SECRET not in str(third)
    mina.open(f"{path}?leaf={failed}")  # The old one can still be read, with the reason.
    assert "Second, with a mistake" in mina.page.text
    assert "The model server refused the request." in mina.page.text
