"""The event stream through the whole stack and a real socket, and what the script gets instead of pages."""

import json
import time
from collections.abc import Iterator

import httpx
import pytest
from httpx_sse import EventSource, ServerSentEvent

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, answer, delta, ending, head, message_start

FORGERY = "\r\nevent: end\r\ndata: {}\r\n\r\n"


def events_of(response: httpx.Response) -> Iterator[ServerSentEvent]:
    return EventSource(response).iter_sse()


def text_of(events: list[ServerSentEvent]) -> str:
    text = ""
    for event in events:
        if event.event == "delta":
            text += json.loads(event.data)["text"]
        elif event.event == "reset":
            text = json.loads(event.data)["text"]
    return text


def read(visitor: Visitor, turn: str, after: int = 0, last_event_id: str | None = None) -> list[ServerSentEvent]:
    headers = {"last-event-id": last_event_id} if last_event_id is not None else {}
    with visitor.client.stream("GET", f"/turns/{turn}/events?after={after}", headers=headers) as response:
        return list(events_of(response))


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


def start(site: Site, mina: Visitor, *steps: object) -> str:
    """A turn with this script behind its first question; its id."""
    site.backend.script(*steps)  # type: ignore[arg-type]
    mina.open("/")
    mina.submit("/conversations", text="Go")
    return mina.turn_id


def test_stream_is_numbered_one_line_json_with_the_exact_text(site: Site, mina: Visitor, gate: Gate) -> None:
    pieces = ["a", FORGERY, "\r", "\n\n\n", " ", "\u2028\u0085", "끝"]
    turn = start(site, mina, message_start(usage={"input_tokens": 5}), gate, *answer(*pieces)[1:])
    gate.open()
    events = read(mina, turn)
    assert text_of(events) == "".join(pieces)
    assert [event.event for event in events].count("end") == 1
    assert events[-1].event == "end"
    assert [int(event.id) for event in events] == list(range(1, len(events) + 1))
    assert all("\n" not in event.data for event in events)


def test_stream_goes_on_behind_any_event(site: Site, mina: Visitor, gate: Gate) -> None:
    turn = start(site, mina, message_start(usage={"input_tokens": 5}), gate, *answer("one ", "two ", "three")[1:])
    gate.open()
    events = read(mina, turn)
    for place in range(len(events) - 1):
        rest = read(mina, turn, after=0, last_event_id=events[place].id)
        assert text_of(events[: place + 1]) + text_of(rest) == "one two three"
        again = read(mina, turn, after=int(events[place].id))
        assert [vars(event) for event in rest] == [vars(event) for event in again]


def test_nothing_left_is_204(site: Site, mina: Visitor, gate: Gate) -> None:
    turn = start(site, mina, message_start(), gate, *answer("done")[1:])
    gate.open()
    last = read(mina, turn)[-1].id
    response = mina.client.get(f"/turns/{turn}/events", headers={"last-event-id": last})
    assert (response.status_code, response.content) == (204, b"")


def test_nonsense_cursors_mean_the_beginning(site: Site, mina: Visitor, gate: Gate) -> None:
    turn = start(site, mina, message_start(), gate, *answer("all of it")[1:])
    gate.open()
    for cursor in ("-1", "x", "١", "9" * 30, ""):
        with mina.client.stream("GET", f"/turns/{turn}/events?after={cursor}") as response:
            assert text_of(list(events_of(response))) == "all of it"


def test_headers_come_before_the_first_token_and_nothing_is_held_back(site: Site, mina: Visitor, gate: Gate) -> None:
    second = Gate()
    turn = start(site, mina, head(), gate, message_start(), delta("first"), second, *ending(output_tokens=2))
    headers = {"accept-encoding": "gzip", "accept": "text/event-stream"}
    with mina.client.stream("GET", f"/turns/{turn}/events?after=0", headers=headers) as response:
        assert response.status_code == 200  # The backend has not said anything yet.
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "content-encoding" not in response.headers
        assert response.headers["cache-control"] == "no-store, no-transform"
        assert response.headers["x-accel-buffering"] == "no"
        assert "content-security-policy" in response.headers
        events = events_of(response)
        gate.open()
        assert text_of([next(event for event in events if event.event == "delta")]) == "first"
        second.open()  # The first piece was here before the second was written.
        assert [event.event for event in events][-1] == "end"


def test_silence_between_two_events_does_not_hold_headers_back(site: Site, mina: Visitor, gate: Gate) -> None:
    turn = start(site, mina, message_start(), delta("first"), gate, *ending(output_tokens=2))
    gate.wait_arrived()
    page = mina.open(mina.page.request.url.path).text
    cursor = page.split('data-cursor="')[1].split('"')[0]
    assert ">first" in page
    with mina.client.stream("GET", f"/turns/{turn}/events?after={cursor}") as response:
        assert response.status_code == 200
        gate.open()
        rest = list(events_of(response))
    assert text_of(rest) == ""
    assert rest[-1].event == "end"


def test_head_answers_and_leaves_the_connection_usable(site: Site, mina: Visitor, gate: Gate) -> None:
    turn = start(site, mina, message_start(), gate, *ending(output_tokens=2))
    response = mina.client.head(f"/turns/{turn}/events")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert mina.open("/health").status_code == 200


def test_leaving_the_stream_does_not_stop_the_answer(site: Site, mina: Visitor, gate: Gate) -> None:
    turn = start(site, mina, message_start(), delta("first "), gate, *answer("second")[1:])
    with mina.client.stream("GET", f"/turns/{turn}/events") as response:
        next(events_of(response))
    gate.open()
    assert text_of(read(mina, turn)) == "first second"
    assert site.backend.disconnects == 0


def test_errors_of_the_stream_are_json_with_the_request_id(site: Site, mina: Visitor) -> None:
    path = "/turns/00000000-0000-7000-8000-000000000000/events"
    response = mina.open(path, accept="text/event-stream")
    assert response.status_code == 404
    assert response.json() == {"error": {"status": 404, "request_id": response.headers["x-request-id"]}}
    assert site.visitor().open(path, accept="text/event-stream").status_code == 401


def test_stop_by_script_is_idempotent(site: Site, mina: Visitor, gate: Gate) -> None:
    turn = start(site, mina, message_start(), delta("Begun"), gate, *ending(output_tokens=2))
    gate.wait_arrived()
    for _ in range(2):
        stopped = mina.post(f"/turns/{turn}/stop", headers={"recount-fragment": "1"}, form_token=mina.form_token)
        assert stopped.status_code == 204
    assert json.loads(read(mina, turn)[-1].data)["status"] == "stopped"


def test_stop_without_a_conversation_to_return_to_leads_home(site: Site, mina: Visitor, gate: Gate) -> None:
    turn = start(site, mina, message_start(), gate, *ending(output_tokens=2))
    response = mina.post(f"/turns/{turn}/stop", form_token=mina.form_token, conversation_id="//evil.example")
    assert (response.status_code, response.headers["location"]) == (303, "/")


def test_script_gets_messages_and_a_new_key(site: Site, mina: Visitor, gate: Gate) -> None:
    path = site.ask(mina, "First")
    site.backend.script(message_start(), gate, *answer("**bold**")[1:])
    response = mina.send_as_script(f"{path}/messages", "Second", "key-2")
    assert response.status_code == 201
    assert response.headers["submission-key"] not in ("", "key-2")
    assert "<html" not in response.text
    assert '<div class="bubble plain" dir="auto">Second</div>' in response.text
    assert 'data-turn="' in response.text
    own = response.text.split('data-self="')[1].split('"')[0]
    gate.open()
    for _ in range(200):
        answered = mina.open(own).text
        if 'data-turn="' not in answered:
            break
        time.sleep(0.02)
    assert "<strong>bold</strong>" in answered
    assert "<footer" in answered
    assert "Second" not in answered


def test_script_is_told_where_the_first_message_went(site: Site, mina: Visitor) -> None:
    response = mina.send_as_script("/conversations", "First", "key-1")
    assert (response.status_code, response.text) == (201, "")
    again = mina.send_as_script("/conversations", "First", "key-1")
    assert again.headers["location"] == response.headers["location"]
    assert mina.open(response.headers["location"]).status_code == 200


def test_script_gets_the_reason_of_a_refusal(site: Site, mina: Visitor) -> None:
    assert mina.send_as_script("/conversations", "First", "key-1").status_code == 201
    refused = mina.send_as_script("/conversations", "Another", "key-1")
    assert refused.status_code == 409
    assert refused.text.strip().startswith(
        '<p class="problem" role="alert">This form was sent before with other content.'
    )
    assert refused.headers["submission-key"] != "key-1"


def test_message_that_is_not_in_the_conversation_is_404(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "First")
    response = mina.open(f"{path}/messages/00000000-0000-7000-8000-000000000000", recount_fragment="1")
    assert response.status_code == 404
    assert response.text.startswith('<p class="problem" role="alert">')
    assert response.headers["x-request-id"] in response.text
