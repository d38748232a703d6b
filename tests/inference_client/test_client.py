"""The operations that are not streamed, and retries, over a real socket."""

import socket
from collections.abc import AsyncIterator

import anyio.to_thread
import httpx
import pytest

from inference_client import (
    AuthenticationFailed,
    ConnectFailed,
    ConnectionLost,
    FirstTokenTimeout,
    IdleTimeout,
    InferenceClient,
    InferenceError,
    InvalidRequest,
    Message,
    Model,
    Overloaded,
    ProtocolError,
    RateLimited,
    RetryPolicy,
    ServerFault,
    StatusError,
    Timeouts,
    Usage,
    encode_body,
)
from tests.live_server import LiveServer
from tests.scripted_backend import (
    COUNT_TOKENS,
    CUT,
    HEALTH,
    MODELS,
    Gate,
    Reply,
    ScriptedBackend,
    answer,
    error_reply,
)

pytestmark = pytest.mark.anyio

BODY = {"model": "m", "max_tokens": 8, "messages": [{"role": "user", "content": "Hello you?"}]}


class Waits:
    """Stands in for sleeping, and remembers for how long."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
async def patient(server: LiveServer, waits: Waits) -> AsyncIterator[InferenceClient]:
    """A client that retries, without really waiting."""
    policy = RetryPolicy(attempts=3, base_delay=0.5, sleep=waits, jitter=lambda: 1.0)
    async with InferenceClient(server.url, retry=policy) as client:
        yield client


async def test_create_gives_the_message(client: InferenceClient, backend: ScriptedBackend) -> None:
    backend.script(*answer("Hel", "lo", usage={"input_tokens": 4, "cache_read_input_tokens": 0}, output_tokens=3))
    assert await client.create(BODY) == Message(
        "msg_scripted", "scripted", "Hello", "end_turn", None, Usage(4, None, 0, 3)
    )
    sent = backend.questions[0]
    assert sent.body == encode_body(BODY)
    assert sent.headers["accept"] == "application/json"
    assert "x-api-key" not in sent.headers


async def test_create_refuses_a_body_that_asks_for_a_stream(client: InferenceClient) -> None:
    with pytest.raises(ValueError, match="without stream"):
        await client.create({**BODY, "stream": True})


async def test_create_and_stream_agree(client: InferenceClient, backend: ScriptedBackend) -> None:
    created = await client.create(BODY)
    async with client.stream({**BODY, "stream": True}) as stream:
        streamed = await stream.final_message()
    assert (created.text, created.usage.output_tokens) == (streamed.text, streamed.usage.output_tokens)
    assert created.usage == Usage(5, 0, 0, 6)
    assert streamed.usage == Usage(1, 0, 4, 6)


async def test_count_tokens_gives_the_number(client: InferenceClient, backend: ScriptedBackend) -> None:
    assert await client.count_tokens(BODY) == 5
    assert backend.requests[0].body == encode_body(BODY)


async def test_models_gives_ids_and_windows(client: InferenceClient, backend: ScriptedBackend) -> None:
    backend.models.append({"id": "other", "type": "model"})
    assert await client.models() == [Model("scripted", "Scripted", 8192), Model("other", "other", None)]
    assert "content-type" not in backend.requests[0].headers


async def test_check_asks_for_the_health(client: InferenceClient, backend: ScriptedBackend) -> None:
    await client.check()
    assert [request.path for request in backend.requests] == [HEALTH]


async def test_check_asks_a_backend_without_health_for_its_models(
    client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(error_reply(404, "not_found_error"), path=HEALTH)
    await client.check()
    assert [request.path for request in backend.requests] == [HEALTH, MODELS]
    backend.script(error_reply(503, "api_error"), path=HEALTH)
    with pytest.raises(ServerFault):
        await client.check()


@pytest.mark.parametrize(
    ("status", "expected"), [(401, AuthenticationFailed), (429, RateLimited), (500, ServerFault), (529, Overloaded)]
)
async def test_status_error_has_its_class(
    status: int, expected: type[StatusError], client: InferenceClient, backend: ScriptedBackend
) -> None:
    backend.script(error_reply(status, "some_error", "No."), path=COUNT_TOKENS)
    with pytest.raises(expected, match=r"No\."):
        await client.count_tokens(BODY)


async def test_redirect_is_not_followed(client: InferenceClient, server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(Reply(307, b"", {"location": server.url + "/health"}), path=MODELS)
    with pytest.raises(StatusError) as raised:
        await client.models()
    assert raised.value.status == 307
    assert [request.path for request in backend.requests] == [MODELS]


async def test_proxy_of_the_environment_is_not_used(
    server: LiveServer, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with InferenceClient(server.url) as client:
        assert await client.count_tokens(BODY) == 5


async def test_huge_error_page_is_not_read_to_its_end(
    client: InferenceClient, server: LiveServer, backend: ScriptedBackend
) -> None:
    backend.script(Reply(502, b"<p>" * 100_000), Gate(), path=MODELS)
    with pytest.raises(ServerFault, match="HTTP status 502"):
        await client.models()
    await anyio.to_thread.run_sync(server.wait_for_connections, 0)


async def test_error_whose_body_breaks_is_still_that_error(client: InferenceClient, backend: ScriptedBackend) -> None:
    backend.script(Reply(500, b'{"type": "err'), CUT, path=MODELS)
    with pytest.raises(ServerFault):
        await client.models()


async def test_huge_answer_is_refused(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(Reply(200, b" " * 5000), path=MODELS)
    async with InferenceClient(server.url, max_event_bytes=4096) as client:
        with pytest.raises(ProtocolError, match="4096"):
            await client.models()


async def test_broken_answer_is_a_lost_connection(patient: InferenceClient, backend: ScriptedBackend) -> None:
    backend.script(Reply(200, b'{"data": ['), CUT, path=MODELS)
    with pytest.raises(ConnectionLost):
        await patient.models()
    assert len(backend.requests) == 1, "the body had begun, so nothing is retried"


async def test_answer_that_stalls_is_idle(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(Reply(200, b'{"data": ['), Gate(), path=MODELS)
    async with InferenceClient(server.url, timeouts=Timeouts(idle=0.1)) as client:
        with pytest.raises(IdleTimeout):
            await client.models()
    await backend.until(lambda: backend.disconnects == 1)


async def test_error_that_stalls_is_idle(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(Reply(500, b'{"type": "err'), Gate(), path=MODELS)
    async with InferenceClient(server.url, timeouts=Timeouts(first_event=0.5)) as client:
        with pytest.raises(IdleTimeout):
            await client.models()
    await backend.until(lambda: backend.disconnects == 1)


async def test_count_tokens_waits_as_long_as_for_a_first_event(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(Gate(), path=COUNT_TOKENS)
    async with InferenceClient(server.url, timeouts=Timeouts(first_event=0.2, first_token=0.1)) as client:
        with pytest.raises(IdleTimeout, match=r"0\.2 s"):
            await client.count_tokens(BODY)


async def test_create_waits_as_long_as_for_a_first_token(server: LiveServer, backend: ScriptedBackend) -> None:
    backend.script(Gate())
    async with InferenceClient(server.url, timeouts=Timeouts(first_event=0.1, first_token=0.5)) as client:
        with pytest.raises(FirstTokenTimeout, match=r"0\.5 s"):
            await client.create(BODY)
    await backend.until(lambda: backend.disconnects == 1)
    assert len(backend.questions) == 1, "a timeout is not retried"


async def test_retry_after_is_honoured(patient: InferenceClient, backend: ScriptedBackend, waits: Waits) -> None:
    backend.script(error_reply(529, "overloaded_error", headers={"retry-after": "7"}))
    backend.script(error_reply(429, "rate_limit_error", headers={"retry-after": "0"}))
    backend.script(*answer("ok"))
    async with patient.stream({**BODY, "stream": True}) as stream:
        assert (await stream.final_message()).text == "ok"
    assert waits.seconds == [7.0, 0.0]
    assert len({request.body for request in backend.questions}) == 1


async def test_retry_gives_the_last_error_up(patient: InferenceClient, backend: ScriptedBackend, waits: Waits) -> None:
    for message in ("first", "second", "third", "fourth"):
        backend.script(error_reply(500, "api_error", message))
    with pytest.raises(ServerFault, match="third"):
        await patient.create(BODY)
    assert waits.seconds == [0.5, 1.0]
    assert len(backend.questions) == 3


async def test_connection_that_ends_before_the_answer_is_tried_again(
    patient: InferenceClient, backend: ScriptedBackend, waits: Waits
) -> None:
    backend.script(CUT)
    backend.script(*answer("ok"))
    assert (await patient.create(BODY)).text == "ok"
    assert waits.seconds == [0.5]


async def test_fault_of_ours_is_not_tried_again(
    patient: InferenceClient, backend: ScriptedBackend, waits: Waits
) -> None:
    backend.script(error_reply(400, "invalid_request_error", "messages: too long"))
    with pytest.raises(InvalidRequest, match="too long"):
        await patient.create(BODY)
    assert waits.seconds == []


async def test_backend_that_is_away_is_tried_three_times(waits: Waits) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    policy = RetryPolicy(sleep=waits, jitter=lambda: 1.0)
    async with InferenceClient(f"http://127.0.0.1:{port}", retry=policy) as client:
        with pytest.raises(ConnectFailed):
            await client.models()
    assert waits.seconds == [0.5, 1.0]


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (httpx.ConnectError, ConnectFailed),
        (httpx.ConnectTimeout, ConnectFailed),
        (httpx.PoolTimeout, ConnectFailed),
        (httpx.UnsupportedProtocol, ConnectFailed),
        (httpx.ReadError, ConnectionLost),
        (httpx.WriteTimeout, ConnectionLost),
        (httpx.RemoteProtocolError, ConnectionLost),
    ],
)
async def test_failure_of_the_transport_has_our_name(
    failure: type[httpx.TransportError], expected: type[InferenceError]
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise failure("")

    transport = httpx.MockTransport(fail)
    async with InferenceClient("http://backend", transport=transport, retry=RetryPolicy(attempts=1)) as client:
        with pytest.raises(expected, match=failure.__name__):
            await client.models()


async def test_connect_timeout_is_a_failed_connection() -> None:
    with socket.socket() as listener:
        # A listener whose queue is full answers no further connection.
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        timeouts = Timeouts(connect=0.1)
        async with InferenceClient(
            f"http://127.0.0.1:{address[1]}", timeouts=timeouts, retry=RetryPolicy(attempts=1)
        ) as client:
            with pytest.raises(ConnectFailed):
                await client.models()
        for filler in fillers:
            filler.close()


async def test_closed_client_holds_no_connection(server: LiveServer, backend: ScriptedBackend) -> None:
    client = InferenceClient(server.url)
    await client.models()
    assert server.connections == 1
    await client.aclose()
    await anyio.to_thread.run_sync(server.wait_for_connections, 0)
