"""Streams over a real socket."""

import asyncio
import json

import anyio
import anyio.to_thread
import pytest

from inference_client import (
    ConnectionLost,
    FirstTokenTimeout,
    IdleTimeout,
    InferenceClient,
    InferenceError,
    Message,
    MessageDelta,
    MessageStream,
    Overloaded,
    Ping,
    ProtocolError,
    RetryPolicy,
    ServerFault,
    StreamEvent,
    TextDelta,
    Timeouts,
    Usage,
)
from tests.inference_client.recordings import EVENTS, TEXTS, recording
from tests.live_server import LiveServer
from tests.scripted_backend import (
    CUT,
    Gate,
    ScriptedBackend,
    Step,
    answer,
    block_start,
    delta,
    ending,
    error_event,
    error_reply,
    head,
    message_delta,
    message_start,
    message_stop,
    ping,
)

pytestmark = pytest.mark.anyio

BODY = {"model": "m", "max_tokens": 8, "stream": True, "messages": [{"role": "user", "content": "Hello?"}]}
ONCE = RetryPolicy(attempts=1)


async def collect(client: InferenceClient) -> tuple[list[StreamEvent], Message, InferenceError | None]:
    """The events, the last snapshot, and the error that ended the stream."""
    events: list[StreamEvent] = []
    async with client.stream(BODY) as stream:
        try:
            while (event := await anext(stream, None)) is not None:
                events.append(event)
        except InferenceError as error:
            return events, stream.snapshot, error
        return events, stream.snapshot, None


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
async def test_stream_gives_the_events_of_a_recording(
    line_end: str, client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(recording(line_end, bom=True))
    events, snapshot, error = await collect(client)
    assert error is None
    assert events == list(EVENTS)
    assert snapshot == Message("msg_1", "m", "".join(TEXTS), "end_turn", None, Usage(8, None, 19, 4))


async def test_stream_cut_anywhere_gives_a_prefix(client: InferenceClient, backend: ScriptedBackend) -> None:
    body = recording()
    for cut in range(0, len(body), 13):
        backend.script(head(), body[:cut])
        events, _, error = await collect(client)
        assert error is None
        if events[-1:] == [Ping()]:
            events.pop()  # A ping torn before its progress is still a ping.
        assert events == list(EVENTS)[: len(events)]


async def test_stream_that_breaks_raises_and_keeps_the_text(client: InferenceClient, backend: ScriptedBackend) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Pa"), delta("rt"), gate, CUT)
    async with client.stream(BODY) as stream:
        assert [type(await anext(stream)).__name__ for _ in range(4)][2:] == ["TextDelta", "TextDelta"]
        gate.open()
        with pytest.raises(ConnectionLost):
            await anext(stream)
        assert stream.snapshot.text == "Part"
        assert stream.snapshot.usage.output_tokens is None


async def test_stream_that_breaks_inside_an_event_raises(client: InferenceClient, backend: ScriptedBackend) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Part"), delta("lost").encode()[:-1], gate, CUT)
    async with client.stream(BODY) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        gate.open()
        with pytest.raises(ConnectionLost):
            await stream.final_message()
        assert stream.snapshot.text == "Part"


@pytest.mark.parametrize("steps", [[], [message_start(), delta("Part")], [message_start(), delta("Part"), b"data: {"]])
async def test_stream_without_its_end_just_ends(
    steps: list[Step], client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(head(), *steps)
    _, snapshot, error = await collect(client)
    assert error is None
    assert snapshot.stop_reason is None
    assert snapshot.text == ("Part" if steps else "")


async def test_final_message_drains_the_stream(client: InferenceClient, backend: ScriptedBackend) -> None:
    backend.script(*answer("Hel", "lo", usage={"input_tokens": 0}, output_tokens=3, stop_reason="max_tokens"))
    async with client.stream(BODY) as stream:
        message = await stream.final_message()
        assert message == stream.snapshot
        assert await stream.final_message() == message
        assert stream.request_id == "req_scripted"
    assert message == Message("msg_scripted", "scripted", "Hello", "max_tokens", None, Usage(0, None, None, 3))


async def test_nothing_is_read_behind_message_stop(client: InferenceClient, backend: ScriptedBackend) -> None:
    backend.script(*answer("x"), error_event(), message_start())
    events, _, error = await collect(client)
    assert error is None
    assert type(events[-1]).__name__ == "MessageStop"


async def test_stream_ends_though_the_backend_holds_the_connection(
    client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(*answer("x"), Gate())
    _, snapshot, error = await collect(client)
    assert error is None
    assert snapshot.stop_reason == "end_turn"
    await backend.until(lambda: backend.open_streams == 0)


async def test_pings_and_comments_are_welcome_everywhere(client: InferenceClient, backend: ScriptedBackend) -> None:
    backend.script(
        b": hello\n\n", ping(queue=1), b": \n", ping(), message_start(), ping(prefill=(9, 4, 2)), block_start(),
        b":\n\n", ping(), delta("a"), ping(), b": x\n\n", delta("b"), ping(), *ending(output_tokens=3),
    )  # fmt: skip
    events, snapshot, error = await collect(client)
    assert error is None
    assert sum(isinstance(event, Ping) for event in events) == 6
    assert snapshot.text == "ab"


async def test_body_is_sent_byte_for_byte_with_its_headers(server: LiveServer, backend: ScriptedBackend) -> None:
    body = {"stream": True, "messages": [{"role": "user", "content": "서울\u2028"}], "model": "m", "max_tokens": 1}
    async with InferenceClient(server.url, api_key="key-1") as client, client.stream(body) as stream:
        await stream.final_message()
    sent = backend.questions[0]
    assert sent.body == json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    expected = {
        "x-api-key": "key-1",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
    }
    assert expected.items() <= sent.headers.items()
    assert "authorization" not in sent.headers


async def test_stream_needs_a_body_that_asks_for_one(client: InferenceClient) -> None:
    with pytest.raises(ValueError, match="stream: true"):
        async with client.stream({"model": "m"}):
            raise AssertionError("there is no stream")


@pytest.mark.parametrize("content_type", ["application/json", "text/html; charset=utf-8"])
async def test_answer_that_is_no_stream_is_refused(
    content_type: str, client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(head(content_type), b"{}")
    with pytest.raises(ProtocolError, match=content_type):
        await collect(client)


async def test_body_that_is_not_encoded_as_it_says_is_refused(
    client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(head(content_encoding="gzip"), b"data: {}\n\n")
    _, _, error = await collect(client)
    assert isinstance(error, ProtocolError)


@pytest.mark.parametrize(
    "steps",
    [
        [delta("x")],
        [message_start(), message_start()],
        [message_start(), delta("x", 1)],
        [message_start(), block_start(0), block_start(1)],
        [message_stop()],
        [message_start(), b"data: no JSON\n\n"],
        [message_start(), b"event: message_delta\ndata: {}\n\n"],
        [message_start(), b"data: \xff\n\n"],
    ],
)
async def test_stream_that_is_not_the_protocol_is_refused(
    steps: list[Step], client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(*steps)
    _, _, error = await collect(client)
    assert isinstance(error, ProtocolError)


async def test_event_over_the_limit_is_refused(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(message_start(), delta("x" * 1000), delta("x" * 5000))
    async with InferenceClient(server.url, max_event_bytes=4096, retry=ONCE) as client:
        _, snapshot, error = await collect(client)
    assert isinstance(error, ProtocolError)
    assert "4096" in str(error)
    assert len(snapshot.text) == 1000


async def test_event_of_two_mebibytes_is_too_large_by_default(
    client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(message_start(), delta("x" * 1_900_000), delta("x" * 2_100_000))
    _, snapshot, error = await collect(client)
    assert isinstance(error, ProtocolError)
    assert len(snapshot.text) == 1_900_000


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([error_event("overloaded_error", "Busy.")], ""),
        ([message_start(), delta("Part"), error_event("overloaded_error", "Busy."), message_stop()], "Part"),
        (
            [
                message_start(),
                delta("Part"),
                delta("lost").encode()[:50],
                b"\n",
                error_event("overloaded_error", "Busy."),
            ],
            "Part",
        ),
        ([message_start(), delta("Part"), error_event("overloaded_error", "Busy.").encode().rstrip()], "Part"),
    ],
)
async def test_error_event_raises_and_keeps_the_text(
    steps: list[Step], text: str, client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(*steps)
    _, snapshot, error = await collect(client)
    assert isinstance(error, Overloaded)
    assert (error.status, error.type, error.message) == (200, "overloaded_error", "Busy.")
    assert error.request_id == "req_scripted"
    assert snapshot.text == text


async def test_failure_inside_a_stream_is_not_retried(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(ping(), error_event())
    async with InferenceClient(server.url, retry=RetryPolicy(attempts=3, base_delay=0)) as client:
        _, _, error = await collect(client)
    assert isinstance(error, ServerFault)
    assert len(backend.questions) == 1


async def test_broken_stream_is_not_retried(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(ping(), CUT)
    async with InferenceClient(server.url, retry=RetryPolicy(attempts=3, base_delay=0)) as client:
        _, _, error = await collect(client)
    assert isinstance(error, ConnectionLost)
    assert len(backend.questions) == 1


async def test_first_event_timeout_covers_missing_headers(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(Gate())
    async with InferenceClient(server.url, timeouts=Timeouts(first_event=0.5)) as client:
        with pytest.raises(IdleTimeout, match=r"0\.5 s of the request"):
            await collect(client)
    await backend.until(lambda: backend.disconnects == 1)
    assert len(backend.questions) == 1, "a timeout is not retried"


async def test_first_event_timeout_covers_a_silent_stream(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(head(), Gate())
    async with InferenceClient(server.url, timeouts=Timeouts(first_event=1.0)) as client:
        _, _, error = await collect(client)
    assert isinstance(error, IdleTimeout)
    await backend.until(lambda: backend.disconnects == 1)


async def test_comments_are_no_events(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(b": still here\n\n", Gate())
    async with InferenceClient(server.url, timeouts=Timeouts(first_event=1.0)) as client:
        _, _, error = await collect(client)
    assert isinstance(error, IdleTimeout)


@pytest.mark.parametrize("steps", [[ping()], [message_start()], [message_start(), block_start(), delta("")]])
async def test_first_token_timeout_is_not_stopped_by_other_events(
    steps: list[Step], server: LiveServer, backend: ScriptedBackend
) -> None:
    backend.script(*steps, Gate())
    async with InferenceClient(server.url, timeouts=Timeouts(first_token=1.0)) as client:
        events, _, error = await collect(client)
    assert isinstance(error, FirstTokenTimeout)
    assert events


@pytest.mark.parametrize("steps", [[delta("x")], [message_delta(usage={"output_tokens": 1})]])
async def test_idle_timeout_takes_over_behind_the_first_token(
    steps: list[Step], server: LiveServer, backend: ScriptedBackend
) -> None:
    backend.script(message_start(), *steps, Gate())
    async with InferenceClient(server.url, timeouts=Timeouts(idle=0.1)) as client:
        _, _, error = await collect(client)
    assert isinstance(error, IdleTimeout)
    assert "no event for 0.1 s" in str(error)


async def test_pings_keep_a_stream_alive_until_the_first_token_is_late(
    server: LiveServer, backend: ScriptedBackend
) -> None:
    # Each ping opens the gate before the next one, so the silence is short each time and long in all.
    gates = [Gate() for _ in range(40)]
    backend.script(message_start(), *(step for gate in gates for step in (ping(), gate)))
    timeouts = Timeouts(idle=5.0, first_token=1.0)
    async with InferenceClient(server.url, timeouts=timeouts) as client, client.stream(BODY) as stream:
        await anext(stream)
        with pytest.raises(FirstTokenTimeout):
            await ping_pong(stream, gates)


async def ping_pong(stream: MessageStream, gates: list[Gate]) -> None:
    for gate in gates:
        assert await anext(stream) == Ping()
        await asyncio.sleep(0.04)
        gate.open()


@pytest.mark.parametrize("first", [delta("a"), message_delta(usage={"output_tokens": 1})])
async def test_answer_may_go_on_behind_the_limit_of_its_first_token(
    first: Step, server: LiveServer, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(message_start(), first, gate, message_stop())
    timeouts = Timeouts(first_token=1.0)
    async with InferenceClient(server.url, timeouts=timeouts) as client, client.stream(BODY) as stream:
        while not isinstance(await anext(stream), TextDelta | MessageDelta):
            pass
        await asyncio.sleep(1.1)
        gate.open()
        await stream.final_message()


async def test_slow_reader_does_not_time_out(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(message_start(), delta("a"), delta("b"), *ending(output_tokens=3))
    async with InferenceClient(server.url, timeouts=Timeouts(idle=0.5)) as client, client.stream(BODY) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                await asyncio.sleep(0.6)
        assert stream.snapshot.text == "ab"


async def test_cancel_closes_the_connection_at_once(client: InferenceClient, backend: ScriptedBackend) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate)
    snapshots = []

    async def turn() -> None:
        async with client.stream(BODY) as stream:
            try:
                await stream.final_message()
            finally:
                snapshots.append(stream.snapshot.text)

    task = asyncio.create_task(turn())
    await gate.arrived()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await backend.until(lambda: backend.disconnects == 1)
    assert snapshots == ["Part"]


async def test_cancel_before_the_headers_closes_the_connection(
    client: InferenceClient, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(gate)
    async with anyio.create_task_group() as group:
        group.start_soon(collect, client)
        await gate.arrived()
        group.cancel_scope.cancel()
    await backend.until(lambda: backend.disconnects == 1)


async def test_leaving_the_context_closes_the_connection(client: InferenceClient, backend: ScriptedBackend) -> None:
    backend.script(message_start(), delta("Part"), Gate())
    async with client.stream(BODY) as stream:
        await anext(stream)
    await backend.until(lambda: backend.disconnects == 1)


async def test_fifty_aborts_leave_no_connection_behind(server: LiveServer, backend: ScriptedBackend) -> None:
    async with InferenceClient(server.url, retry=ONCE) as client:
        for number in range(50):
            backend.script(message_start(), delta("Part"), Gate())
            async with client.stream(BODY) as stream:
                for _ in range(number % 4):
                    await anext(stream)
        await backend.until(lambda: backend.disconnects == 50)
        await anyio.to_thread.run_sync(server.wait_for_connections, 0)
        assert (await collect(client))[1].stop_reason == "end_turn"


async def test_finished_streams_share_one_connection(server: LiveServer, backend: ScriptedBackend) -> None:
    async with InferenceClient(server.url, retry=ONCE) as client:
        for _ in range(5):
            await collect(client)
        assert len({request.client_port for request in backend.questions}) == 1


async def test_status_error_of_a_stream_has_its_class(client: InferenceClient, backend: ScriptedBackend) -> None:
    backend.script(error_reply(529, "overloaded_error", "Queue full.", {"retry-after": "3", "request-id": "req_9"}))
    with pytest.raises(Overloaded) as raised:
        await collect(client)
    error = raised.value
    assert (error.status, error.message, error.request_id, error.retry_after) == (529, "Queue full.", "req_9", 3.0)
