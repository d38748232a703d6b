"""The event stream arrives at once, whole and unforged, whatever stands or fails on the way to the browser."""

import json
import socket
import sqlite3
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from app.conversations import BEYOND_LOGS
from app.turns.rhythm import Rhythm
from tests.app.idle_proxy import idle_proxy
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.test_error_pages import table_away
from tests.app.web.test_turn_routes import FORGERY, events_of, read, start, text_of
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, answer, delta, ending, error_event, message_start

KINDS = {"start", "status", "delta", "block", "open", "preview", "usage", "reset", "end"}


@pytest.mark.anyio
async def test_pings_bring_a_silent_stream_through_a_proxy_with_little_patience(open_site: OpenSite) -> None:
    assert Rhythm().ping <= 15
    site = open_site(rhythm=Rhythm(ping=0.1))
    mina, gate = site.set_up(), Gate()
    turn = start(site, mina, message_start(), gate, *answer("late")[1:])
    async with (
        idle_proxy(site.url, patience=60) as proxy,
        httpx.AsyncClient(base_url=proxy.url, cookies=mina.client.cookies) as browser,
        browser.stream("GET", f"/turns/{turn}/events") as response,
    ):
        body = ""
        async for piece in response.aiter_text():
            body += piece
            if ": ping" in piece:
                proxy.pass_time(40)
            if body.count(": ping") >= 4:
                gate.open()
    assert 'data: {"text": "late"}' in body
    assert body.count("event: end") == 1


def test_each_token_arrives_before_the_next_is_written(site: Site, mina: Visitor) -> None:
    """Through the whole stack, with more text in all than is worth compressing elsewhere."""
    tokens = [f"{number}{'x' * 300}" for number in range(8)]
    gates = [Gate() for _ in tokens]
    steps = [step for token, gate in zip(tokens, gates, strict=True) for step in (delta(token), gate)]
    turn = start(site, mina, message_start(), *steps, *ending(output_tokens=9))
    with mina.client.stream("GET", f"/turns/{turn}/events", headers={"accept-encoding": "gzip, br"}) as response:
        assert "content-encoding" not in response.headers
        events = events_of(response)
        for token, gate in zip(tokens, gates, strict=True):
            arrived = next(event for event in events if event.event == "delta")
            assert json.loads(arrived.data) == {"text": token}
            gate.open()
        assert [event.event for event in events][-1] == "end"


def test_error_of_the_backend_forges_no_event(site: Site, mina: Visitor) -> None:
    gate = Gate()
    forged = error_event(f"overloaded_error{FORGERY}", f"secret{FORGERY}")
    turn = start(site, mina, message_start(), gate, delta("Part"), forged)
    gate.open()
    events = read(mina, turn)
    assert {event.event for event in events} <= KINDS
    assert [event.event for event in events].count("end") == 1
    assert text_of(events) == "Part"
    end = json.loads(events[-1].data)
    assert (end["status"], end["error_type"]) == ("failed", "backend_fault")
    assert end["error_message"] == "The model server failed."
    assert "secret" not in mina.open(mina.page.request.url.path).text


def test_stream_that_breaks_in_the_app_ends_between_two_events_and_can_be_taken_up(open_site: OpenSite) -> None:
    """The turn is another worker's, so its text is read from the database, which then goes away."""
    site = open_site(rhythm=Rhythm(checkpoint=0.02, poll=0.05, keep_log=0))
    mina, worker = site.set_up(), uuid4().hex
    path = site.ask(mina, "Hello")
    change(site, "INSERT INTO workers VALUES (?, 'elsewhere/1', '2026-01-01 00:00:00', '2999-01-01 00:00:00')", worker)
    change(site, "UPDATE turns SET status = 'running', finished_at = NULL, worker_id = ?", worker)
    mina.open(path)
    turn = mina.turn_id
    with mina.client.stream("GET", f"/turns/{turn}/events") as response:
        pieces = response.iter_raw()
        body = bytearray(next(pieces))
        with table_away(site, "messages"), pytest.raises(httpx.RemoteProtocolError):
            take_all(pieces, body)
    assert body.endswith(b"\r\n\r\n")
    assert body.count(b"event: ") == body.count(b"event: reset") == 1
    assert b"<html" not in body  # No error page behind the events.
    change(site, "UPDATE turns SET status = 'completed'")
    events = read(mina, turn, last_event_id=str(BEYOND_LOGS + 1))
    assert [event.event for event in events] == ["reset", "end"]
    assert [int(event.id) for event in events] == [BEYOND_LOGS + 2, BEYOND_LOGS + 3]
    assert text_of(events) == "This is answer number 1."


def take_all(pieces: Iterator[bytes], body: bytearray) -> None:
    for piece in pieces:
        body += piece


def change(site: Site, statement: str, *values: str) -> None:
    with sqlite3.connect(site.database_file) as connection:
        connection.execute(statement, values)
    connection.close()


def test_browser_that_never_reads_holds_neither_the_answer_nor_other_readers_up(open_site: OpenSite) -> None:
    site = open_site(send_buffer=4096)
    mina, gate = site.set_up(), Gate()
    words = [f"{number} {'x' * 500} " for number in range(2000)]
    turn = start(site, mina, message_start(), gate, *map(delta, words), *ending(output_tokens=2001))
    with socket.socket() as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        silent.connect(("127.0.0.1", int(site.url.rpartition(":")[2])))
        cookies = "; ".join(f"{name}={value}" for name, value in mina.client.cookies.items())
        silent.sendall(f"GET /turns/{turn}/events HTTP/1.1\r\nhost: x\r\ncookie: {cookies}\r\n\r\n".encode())
        assert silent.recv(15) == b"HTTP/1.1 200 OK"
        gate.open()
        events = read(mina, turn)
    assert text_of(events) == "".join(words)
    assert json.loads(events[-1].data)["status"] == "completed"
    assert site.backend.disconnects == 0
