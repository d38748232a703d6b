"""What is typed, stored and sent is one text, whichever way the form was sent."""

import sqlite3

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import answer

TYPED = "\ufeff  a\r\nb\rc\nd\t|\te\u0301 \u00a0\r\n\r\n"
KEPT = "\ufeff  a\nb\nc\nd\t|\te\u0301 \u00a0\n\n"
ANSWERED = ["\n ", "a\r\n\tb\r", "e\u0301\ufeff", " \n\n"]


def stored(site: Site, role: str) -> list[str]:
    with sqlite3.connect(site.database_file) as connection:
        rows = connection.execute("SELECT text FROM messages WHERE role = ? ORDER BY id", (role,)).fetchall()
    connection.close()
    return [text for (text,) in rows]


def sent(site: Site) -> list[list[str]]:
    """The contents of each request, without the notes behind the questions."""
    return [
        [message["content"].partition("\n\n<context-note>")[0] for message in question.json()["messages"]]
        for question in site.backend.questions
    ]


def test_form_and_script_store_and_send_the_same_bytes(site: Site, mina: Visitor) -> None:
    """A form sends every line end as CRLF, the script as LF; others may send what they like."""
    site.ask(mina, TYPED)
    site.ask(mina, KEPT.replace("\n", "\r\n"))
    mina.open("/")
    by_script = mina.send_as_script("/conversations", KEPT, "key-1")
    mina.open(by_script.headers["location"])
    site.wait_idle(mina)
    assert stored(site, "user") == [KEPT] * 3
    assert sent(site) == [[KEPT]] * 3


def test_same_form_by_script_and_without_it_is_one_send(site: Site, mina: Visitor) -> None:
    mina.open("/")
    by_script = mina.send_as_script("/conversations", "two\nlines", "key-1")
    without = mina.post("/conversations", form_token=mina.form_token, submission_key="key-1", text="two\r\nlines")
    assert (by_script.status_code, without.status_code) == (201, 303)
    assert by_script.headers["location"] == without.headers["location"]
    mina.open(by_script.headers["location"])
    site.wait_idle(mina)
    assert len(site.backend.questions) == 1


def test_answer_is_stored_and_sent_again_as_its_joined_deltas(site: Site, mina: Visitor) -> None:
    site.backend.script(*answer(*ANSWERED))
    path = site.ask(mina, TYPED)
    site.ask(mina, "And then?", path)
    assert stored(site, "assistant")[0] == "".join(ANSWERED)
    assert sent(site)[1] == [KEPT, "".join(ANSWERED), "And then?"]
    first, second = (question.json()["messages"] for question in site.backend.questions)
    assert second[:1] == first
