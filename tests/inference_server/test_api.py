"""The wire: what is accepted, what is refused and how, and the order of events."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_server.assembly import load_app
from inference_server.model_runner import BatchItem
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import serve_scripted
from tests.inference_server.serving import (
    CONFIG,
    Served,
    assistant,
    events,
    prompt_tokens,
    serve_model,
    until,
    user,
)
from tests.live_server import LiveServer

HELLO = [user("Hello")]


def post(served: Served, body: object, path: str = "/v1/messages") -> httpx.Response:
    return served.http.post(path, json=body)


def test_a_stream_has_the_events_in_the_wire_s_order(tiny: Served) -> None:
    body = {"model": tiny.model, "max_tokens": 6, "messages": HELLO, "stream": True, "temperature": 0}
    response = post(tiny, body)
    assert response.headers["content-type"].startswith("text/event-stream")
    got = events(response)
    assert [name for name, data in got if data["type"] != name] == []
    names = [name for name, _ in got if name != "ping"]
    assert got[0][0] == "ping"
    assert names[:2] == ["message_start", "content_block_start"]
    assert set(names[2:-3]) <= {"content_block_delta"}
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    start = next(data["message"] for name, data in got if name == "message_start")
    ending = next(data for name, data in got if name == "message_delta")
    assert (start["type"], start["role"], start["content"], start["stop_reason"]) == ("message", "assistant", [], None)
    for field in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"):
        assert start["usage"][field] == ending["usage"][field]
    assert ending["usage"]["output_tokens"] == 6
    text = "".join(data["delta"]["text"] for name, data in got if name == "content_block_delta")
    assert text == tiny.ask(HELLO, max_tokens=6, temperature=0)["content"][0]["text"]


@pytest.mark.parametrize("stream", [False, True])
def test_every_mode_tells_all_figures_and_they_add_up(tiny: Served, stream: bool) -> None:
    body = {"messages": HELLO, "max_tokens": 3, "metadata": {"user_id": f"figures {stream}"}}
    count = tiny.count(HELLO)
    for read in (0, count - 1):
        if stream:
            got = events(post(tiny, {"model": "tiny", "stream": True, **body}))
            (usage,) = (data["usage"] for name, data in got if name == "message_delta")
        else:
            usage = tiny.ask(**body)["usage"]
        figures = {"input_tokens": count - read, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}
        assert usage == {**figures, "output_tokens": 3}


def test_usage_adds_up_with_and_without_breakpoints(tiny: Served) -> None:
    marked = [{"type": "text", "text": "Mark this and be brief.", "cache_control": {"type": "ephemeral"}}]
    count = tiny.count(HELLO, system=marked)
    first = tiny.ask(HELLO, system=marked)["usage"]
    assert prompt_tokens(first) == count
    assert 0 < first["cache_creation_input_tokens"] < count
    assert first["cache_read_input_tokens"] < count // 2
    again = tiny.ask(HELLO, system=marked)["usage"]
    assert (again["cache_creation_input_tokens"], again["cache_read_input_tokens"]) == (0, count - 1)
    plain = tiny.ask([user("Something else")])["usage"]
    assert plain["cache_creation_input_tokens"] == 0
    whole = tiny.ask([user("All of it, please")], cache_control={"type": "ephemeral"})["usage"]
    assert whole["cache_creation_input_tokens"] > whole["input_tokens"] > 0


def test_max_tokens_zero_warms_the_cache(tiny: Served) -> None:
    cold = [user("Warm this up")]
    warm = tiny.ask(cold, max_tokens=0)
    assert (warm["usage"]["output_tokens"], warm["stop_reason"]) == (0, "max_tokens")
    assert warm["content"] == [{"type": "text", "text": ""}]
    assert tiny.ask(cold)["usage"]["cache_read_input_tokens"] == prompt_tokens(warm["usage"]) - 1


def test_a_system_string_and_a_block_are_the_same_prompt(tiny: Served) -> None:
    string = tiny.count(HELLO, system="Be brief.")
    assert tiny.count(HELLO, system=[{"type": "text", "text": "Be brief."}]) == string
    assert tiny.count(HELLO, system="") == tiny.count(HELLO)


def test_an_answer_beyond_the_window_is_clamped(tiny_model: Path) -> None:
    with serve_model(tiny_model, kv_bytes=64 * 512) as served:
        window = served.http.get("/v1/models").json()["data"][0]["max_input_tokens"]
        assert window == 64
        used = served.count(HELLO)
        reply = served.ask(HELLO, max_tokens=1000, temperature=0, stop_sequences=None)
        if reply["stop_reason"] == "model_context_window_exceeded":
            assert prompt_tokens(reply["usage"]) + reply["usage"]["output_tokens"] == window
        else:
            assert reply["stop_reason"] == "end_turn"
        assert used < window
        long = post(served, {"model": served.model, "max_tokens": 1, "messages": [user("x" * 100)]})
        assert long.status_code == 400
        assert "at most 64 fit" in long.json()["error"]["message"]


def test_models_are_listed_and_found(tiny: Served) -> None:
    (entry,) = tiny.http.get("/v1/models").json()["data"]
    assert entry["id"] == "tiny"
    assert tiny.http.get("/v1/models/tiny").json() == entry
    assert tiny.http.get("/v1/models/other").status_code == 404


def test_a_wrong_key_is_refused_before_the_body_is_read(tiny: Served) -> None:
    for headers in ({"x-api-key": "wrong"}, {"x-api-key": ""}, {"x-api-key": "", "authorization": "Bearer nope"}):
        response = tiny.http.post("/v1/messages", content=b"not json", headers=headers)
        assert response.status_code == 401
        assert response.json()["error"]["type"] == "authentication_error"
    bearer = {"x-api-key": "", "authorization": "Bearer test-key"}
    assert tiny.http.get("/v1/models", headers=bearer).status_code == 200
    assert tiny.http.get("/health", headers={"x-api-key": ""}).status_code == 200


def test_every_error_has_the_wire_s_shape_and_the_request_s_id(tiny: Served) -> None:
    responses = {
        400: post(tiny, {}),
        401: tiny.http.get("/v1/models", headers={"x-api-key": "x"}),
        404: post(tiny, {"model": "gpt", "max_tokens": 1, "messages": HELLO}),
        405: tiny.http.get("/v1/messages"),
        413: tiny.http.post(
            "/v1/messages", content=b" " * (9 * 1024 * 1024), headers={"content-type": "application/json"}
        ),
    }
    for status, response in responses.items():
        body = response.json()
        assert response.status_code == status
        assert body["type"] == "error"
        assert set(body["error"]) == {"type", "message"}
        assert body["request_id"] == response.headers["request-id"]
    assert tiny.http.get("/nowhere").json()["error"]["type"] == "not_found_error"


def test_a_body_of_unknown_length_is_limited_too(tiny: Served) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(9):
            yield b" " * 1024 * 1024

    response = tiny.http.post("/v1/messages", content=chunks(), headers={"content-type": "application/json"})
    assert response.status_code == 413


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0"),
        ({"messages": [{"role": "user", "content": None}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": []}]}, "messages.0.content"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"messages": [user("a"), {"role": "user", "content": [{"type": "image"}]}]}, "messages.1.content.0"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages.0.content.0"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": "8"}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.01}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"stop_sequences": [""]}, "stop_sequences"),
        ({"stop_sequences": "x"}, "stop_sequences"),
        ({"stream": "yes"}, "stream"),
        ({"metadata": {"user_id": 5}}, "metadata.user_id"),
        ({"system": 5}, "system"),
        ({"cache_control": {"type": "forever"}}, "cache_control.type"),
    ],
)
def test_a_wrong_field_is_named(tiny: Served, change: dict[str, object], path: str) -> None:
    response = post(tiny, {"model": "tiny", "max_tokens": 1, "messages": HELLO, **change})
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert response.json()["error"]["message"].startswith(path + ":")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"model":"tiny","max_tokens":1,"messages":[{"role":"user","content":"\\ud800"}]}',
        b'{"model":"tiny","max_tokens":1,"temperature":NaN,"messages":[{"role":"user","content":"x"}]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_body_that_is_no_request_is_refused(tiny: Served, raw: bytes) -> None:
    response = tiny.http.post("/v1/messages", content=raw, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_another_content_type_is_refused(tiny: Served) -> None:
    response = tiny.http.post("/v1/messages", data={"model": "tiny"})
    assert response.status_code == 400
    assert "application/json" in response.json()["error"]["message"]


def test_unknown_fields_and_all_roles_are_accepted(tiny: Served) -> None:
    messages = [{"role": "system", "content": "Be kind."}, user("a"), user("b"), assistant("c"), assistant("d ")]
    reply = tiny.ask(messages, thinking={"type": "disabled"}, service_tier="auto", max_tokens=2)
    assert reply["usage"]["output_tokens"] >= 1


JSON_VALUE = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)
FIELDS = [
    "messages",
    "system",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "cache_control",
    "max_tokens",
]


@settings(max_examples=60, deadline=None)
@given(field=st.sampled_from(FIELDS), value=JSON_VALUE)
def test_no_body_makes_the_server_fail(tiny: Served, field: str, value: object) -> None:
    body = {"model": "tiny", "max_tokens": 1, "messages": HELLO, field: value}
    response = post(tiny, body)
    assert response.status_code in (200, 400)
    json.loads(response.text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def test_metrics_tell_free_cached_and_live_slots_apart(fresh_tiny: Served) -> None:
    usage = fresh_tiny.ask(HELLO)["usage"]
    lines = dict(
        line.rsplit(" ", 1) for line in fresh_tiny.http.get("/metrics").text.splitlines() if not line.startswith("#")
    )
    assert float(lines['recount_inference_tokens_total{kind="computed"}']) == usage["input_tokens"]
    assert float(lines['recount_inference_tokens_total{kind="output"}']) == usage["output_tokens"]
    slots = {
        state: float(lines[f'recount_inference_kv_slots{{state="{state}"}}']) for state in ("free", "cached", "live")
    }
    assert slots["live"] == 0
    assert slots["cached"] == prompt_tokens(usage) + usage["output_tokens"] - 1
    assert sum(slots.values()) == fresh_tiny.scheduler.allocator.num_slots
    assert float(lines["recount_inference_time_to_first_token_seconds_count"]) == 1


Serve = Callable[..., AbstractContextManager[Served]]


@pytest.fixture
def scripted(tokenizer: TextTokenizer) -> Serve:
    return partial(serve_scripted, tokenizer, max_running=1)


def test_a_failing_request_gets_an_error_and_the_next_one_an_answer(scripted: Serve) -> None:
    word = 500
    runner = OracleRunner(4096, lambda prefix: word, fails=lambda prefix: prefix.count(word) == 3)
    with scripted(runner) as served:
        body = {"model": "scripted", "max_tokens": 9, "messages": HELLO}
        whole = post(served, body)
        assert (whole.status_code, whole.json()["error"]["type"]) == (500, "api_error")
        streamed = events(post(served, {**body, "stream": True}))
        assert streamed[-1][0] == "error"
        assert "message_stop" not in [name for name, _ in streamed]
        assert served.ask(HELLO, max_tokens=2)["usage"]["output_tokens"] == 2
        assert not served.deaths


def test_a_full_queue_is_refused_with_a_time_to_retry(scripted: Serve) -> None:
    going, gate = threading.Event(), threading.Event()

    def slow(_prefix: tuple[int, ...]) -> int:
        going.set()
        gate.wait(30)
        return 500

    with scripted(OracleRunner(4096, slow), max_waiting=0) as served:
        body = {"model": "scripted", "max_tokens": 1, "messages": HELLO}
        thread = threading.Thread(target=post, args=(served, body))
        thread.start()
        going.wait(30)
        refused = post(served, body)
        gate.set()
        thread.join()
    assert refused.status_code == 529
    assert refused.json()["error"]["type"] == "overloaded_error"
    assert int(refused.headers["retry-after"]) > 0


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_that_goes_away_ends_its_request(scripted: Serve, stream: bool) -> None:
    with scripted(OracleRunner(4096, lambda prefix: time.sleep(0.005) or 500)) as served:
        body = {"model": "scripted", "max_tokens": 3000, "messages": HELLO, "stream": stream}
        with pytest.raises(httpx.TimeoutException), served.http.stream("POST", "/v1/messages", json=body, timeout=0.5):
            raise httpx.ReadTimeout("the stream has begun; leave it")
        until(lambda: 'requests_total{status="aborted"} 1.0' in served.http.get("/metrics").text)
        assert served.scheduler.num_live == 0


def test_the_place_in_the_queue_is_told_in_pings(scripted: Serve) -> None:
    with scripted(OracleRunner(4096, lambda prefix: time.sleep(0.02) or 500)) as served:
        body = {"model": "scripted", "max_tokens": 50, "messages": HELLO}
        running = threading.Thread(target=post, args=(served, body))
        running.start()
        until(lambda: served.scheduler.running)
        waited = events(post(served, {**body, "max_tokens": 1, "stream": True}))
        running.join()
    assert [data["queue"] for name, data in waited if "queue" in data] == [{"position": 1}]
    assert [name for name, _ in waited].index("message_start") > 1


def test_a_broken_cache_is_found_and_ends_the_engine(scripted: Serve) -> None:
    with scripted(OracleRunner(4096, lambda prefix: 2)) as served:
        served.ask(HELLO, max_tokens=1)
        served.scheduler.allocator.allocate(1)  # A slot that nobody owns.
        served.app.state.engine._next_check = 0.0
        assert post(served, {"model": "scripted", "max_tokens": 1, "messages": HELLO}).status_code == 503
        assert served.deaths == [None]


@pytest.mark.parametrize("stream", [False, True])
def test_a_dead_engine_shows_and_refuses(scripted: Serve, stream: bool) -> None:
    class Dying(OracleRunner):
        def copy_kv(self, source: object, target_start: int) -> None:
            raise SystemError("the device is gone")

    with scripted(Dying(4096, lambda prefix: 500)) as served:
        served.ask(HELLO, max_tokens=1)
        (free,) = served.scheduler.allocator.free_slots()[:1]
        served.scheduler.allocator.allocate_range(free, 1)  # The prefix cannot grow where it is, so it is copied.
        body = {"model": "scripted", "max_tokens": 1, "messages": HELLO}
        response = post(served, {**body, "stream": stream})
        if stream:
            assert events(response)[-1][1]["error"]["type"] == "api_error"
        else:
            assert response.status_code == 503
        assert post(served, body).status_code == 503
        assert served.http.get("/health").status_code == 503
        assert served.deaths == [None]


def test_prefill_progress_is_told_in_pings(scripted: Serve) -> None:
    class Slow(OracleRunner):
        def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
            if len(batch[0].tokens) > 32:  # The batches that are timed at start are not the point here.
                time.sleep(0.3)
            return super().run(batch)

    with scripted(Slow(4096, lambda prefix: 2)) as served:
        got = events(
            post(served, {"model": "scripted", "max_tokens": 1, "messages": [user("word " * 600)], "stream": True})
        )
    progress = [data["prefill"] for name, data in got if name == "ping" and "prefill" in data]
    assert [step["processed"] for step in progress] == [256, 512]
    assert {(step["cached"], step["total"]) for step in progress} == {(0, progress[0]["total"])}


def test_the_end_of_the_application_stops_the_engine(tiny_model: Path) -> None:
    app = load_app(replace(CONFIG, model=tiny_model), on_death=lambda: None)
    engine = threading.Thread(target=app.state.engine.run)
    with LiveServer(app):
        engine.start()
    engine.join(30)
    assert not engine.is_alive()
