"""The scripted backend and its server, because other tests lean on them; the official SDK judges the protocol."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import anyio.to_thread
import httpx
import pytest
from starlette.applications import Starlette

from tests.live_server import LiveServer
from tests.scripted_backend import (
    COUNT_TOKENS,
    MESSAGES,
    Gate,
    ScriptedBackend,
    answer,
    delta,
    error_event,
    error_reply,
    message_start,
    ping,
)

pytestmark = pytest.mark.anyio

QUESTION: Any = {"role": "user", "content": "Hello you?"}


@pytest.fixture
def sdk(server: LiveServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="key-1", max_retries=0) as sdk:
        yield sdk  # Closed: other tests count the connections of this server.


def test_sdk_reads_the_plausible_answer(sdk: anthropic.Anthropic, backend: ScriptedBackend) -> None:
    created = sdk.messages.create(model="m", max_tokens=8, messages=[QUESTION])
    with sdk.messages.stream(model="m", max_tokens=8, messages=[QUESTION]) as stream:
        streamed = stream.get_final_message()
    for message in (created, streamed):
        assert [block.text for block in message.content if block.type == "text"] == ["This is answer number 1."]
    assert (streamed.usage.input_tokens, streamed.usage.cache_read_input_tokens) == (1, 4)
    assert streamed.usage.output_tokens == 6
    assert [model.id for model in sdk.models.list()] == ["scripted"]


def test_sdk_reads_a_script(sdk: anthropic.Anthropic, backend: ScriptedBackend) -> None:
    backend.script(ping(), *answer("Hel", "lo", output_tokens=9, stop_reason="max_tokens"))
    with sdk.messages.stream(model="m", max_tokens=8, messages=[QUESTION]) as stream:
        message = stream.get_final_message()
    assert [block.text for block in message.content if block.type == "text"] == ["Hello"]
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 9)


def test_sdk_reads_scripted_errors(sdk: anthropic.Anthropic, backend: ScriptedBackend) -> None:
    backend.script(error_reply(404, "not_found_error", "No such model."))
    with pytest.raises(anthropic.NotFoundError, match="No such model"):
        sdk.messages.create(model="m", max_tokens=8, messages=[QUESTION])
    backend.script(message_start(), delta("Part"), error_event("overloaded_error", "Busy."))
    with (
        pytest.raises(anthropic.APIStatusError, match="Busy"),
        sdk.messages.stream(model="m", max_tokens=8, messages=[QUESTION]) as stream,
    ):
        stream.get_final_message()


def test_plausible_usage_adds_up_along_a_conversation(server: LiveServer, backend: ScriptedBackend) -> None:
    messages = [QUESTION]
    system = "You are kind."
    before: dict[str, int] | None = None
    for _ in range(3):
        body = {"model": "m", "max_tokens": 8, "system": system, "messages": messages}
        count = httpx.post(server.url + COUNT_TOKENS, json=body).json()["input_tokens"]
        reply = httpx.post(server.url + MESSAGES, json=body).json()
        usage = reply["usage"]
        prompt = usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
        assert prompt == count
        read = before["prompt"] + before["output"] - 1 if before else 0
        assert usage["cache_read_input_tokens"] == read
        before = {"prompt": prompt, "output": usage["output_tokens"]}
        answered = {"role": "assistant", "content": [{"type": "text", "text": reply["content"][0]["text"]}]}
        messages = [*messages, answered, {"role": "user", "content": "And then?"}]


def test_gate_holds_until_it_is_opened(server: LiveServer, backend: ScriptedBackend) -> None:
    gate = Gate()
    backend.script(message_start(), gate, delta("x"))
    body = {"model": "m", "stream": True, "messages": [QUESTION]}
    with httpx.stream("POST", server.url + MESSAGES, json=body) as response:
        lines = response.iter_lines()
        assert next(lines) == "event: message_start"
        gate.wait_arrived()
        assert backend.open_streams == 1
        gate.open()
        assert "text_delta" in "".join(lines)
    backend.wait_for(lambda: backend.open_streams == 0)
    assert backend.disconnects == 0


def test_waiting_for_what_never_comes_fails(backend: ScriptedBackend) -> None:
    with pytest.raises(TimeoutError):
        Gate().wait_arrived(timeout=0.01)
    with pytest.raises(TimeoutError):
        backend.wait_for(lambda: False, timeout=0.01)


async def test_server_stops_with_streams_open_and_starts_on_the_same_port() -> None:
    backend = ScriptedBackend()
    backend.script(message_start(), Gate())
    body = {"model": "m", "stream": True, "messages": [QUESTION]}
    async with httpx.AsyncClient() as http:
        server = LiveServer(backend, lifespan=False, graceful_seconds=0)
        await anyio.to_thread.run_sync(server.start)
        async with http.stream("POST", server.url + MESSAGES, json=body) as response:
            await anext(response.aiter_bytes())
            await anyio.to_thread.run_sync(server.stop)
        with pytest.raises(httpx.ConnectError):
            await http.get(server.url + "/health")
        async with LiveServer(backend, port=server.port, lifespan=False) as again:
            assert again.url == server.url
            assert (await http.get(again.url + "/health")).json() == {"status": "ok"}


def test_server_runs_the_lifespan_and_tells_when_it_fails() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if seen:
            raise RuntimeError("no database")
        seen.append("started")
        yield
        seen.append("ended")

    app = Starlette(lifespan=lifespan)
    with LiveServer(app):
        assert seen == ["started"]
    assert seen == ["started", "ended"]
    with pytest.raises(RuntimeError, match="did not start"), LiveServer(app):
        raise AssertionError("there is no server")
