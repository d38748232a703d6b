"""What the official SDK does about failures by itself: it tries again, and the answer comes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import anthropic
import anyio
import httpx
import pytest
from anthropic import Anthropic, AsyncAnthropic, DefaultAsyncHttpxClient, DefaultHttpxClient
from anthropic.types import Message

from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import END_ID, serve_scripted
from tests.inference_server.serving import KEY, Served, user
from tests.tiny_model import MESSAGE_START

BODY = {"model": "scripted", "max_tokens": 4, "messages": [user("Hello from the SDK")]}


class Caller:
    """Sends one message by the sync or the async client and remembers (status, request id, time) of each response."""

    def __init__(self, kind: str) -> None:
        self.responses: list[tuple[int, str, float]] = []
        self.on_failure: Callable[[], None] = lambda: None
        self._kind = kind

    @property
    def statuses(self) -> list[int]:
        return [status for status, _, _ in self.responses]

    def ask(self, url: str) -> Message:
        if self._kind == "async":
            return anyio.run(self._ask_async, url)
        http = DefaultHttpxClient(event_hooks={"response": [self._note]})
        with Anthropic(base_url=url, api_key=KEY, max_retries=3, http_client=http) as client:
            return client.messages.create(**BODY)

    async def _ask_async(self, url: str) -> Message:
        async def note(response: httpx.Response) -> None:
            self._note(response)

        http = DefaultAsyncHttpxClient(event_hooks={"response": [note]})
        async with AsyncAnthropic(base_url=url, api_key=KEY, max_retries=3, http_client=http) as client:
            return await client.messages.create(**BODY)

    def _note(self, response: httpx.Response) -> None:
        self.responses.append((response.status_code, response.headers["request-id"], time.monotonic()))
        if response.status_code != 200:
            self.on_failure()

    def check(self, message: Message, *statuses: int) -> None:
        """These statuses, each with a request id of its own, of which the message shows the last."""
        assert self.statuses == list(statuses)
        ids = [request_id for _, request_id, _ in self.responses]
        assert len(set(ids)) == len(ids)
        assert message._request_id == ids[-1]
        assert message.stop_reason == "end_turn"


@pytest.fixture(params=["sync", "async"])
def caller(request: pytest.FixtureRequest) -> Caller:
    return Caller(request.param)


def test_a_full_queue_is_tried_again_when_the_server_said(caller: Caller, tiny_tokenizer: TextTokenizer) -> None:
    is_busy, gate = threading.Event(), threading.Event()

    def next_token(_prefix: tuple[int, ...]) -> int:
        is_busy.set()
        gate.wait(20)
        return END_ID

    with serve_scripted(tiny_tokenizer, OracleRunner(1024, next_token), max_running=1, max_waiting=0) as served:
        other = threading.Thread(target=served.ask, args=([user("I was first")],))
        other.start()
        assert is_busy.wait(20)

        def make_room() -> None:
            gate.set()
            other.join()

        caller.on_failure = make_room
        caller.check(caller.ask(served.url), 529, 200)
    (_, _, refused), (_, _, answered) = caller.responses
    assert answered - refused >= 2  # The server's retry-after; unasked, the SDK would have come back in half a second.


def test_a_failed_request_is_tried_again(caller: Caller, tiny_tokenizer: TextTokenizer) -> None:
    is_healed = threading.Event()

    def fails(prefix: tuple[int, ...]) -> bool:
        return prefix[0] == MESSAGE_START and not is_healed.is_set()

    runner = OracleRunner(1024, lambda _prefix: END_ID, fails=fails)
    caller.on_failure = is_healed.set
    with serve_scripted(tiny_tokenizer, runner) as served:
        caller.check(caller.ask(served.url), 500, 200)


def kill_engine(served: Served) -> None:
    """Let the self-check find a slot that nobody owns."""
    served.scheduler.allocator.allocate(1)
    served.app.state.engine._next_check = 0.0


def test_a_dead_engine_is_tried_again_until_a_supervisor_has_restarted_it(
    caller: Caller, tiny_tokenizer: TextTokenizer
) -> None:
    def serve(stack: ExitStack, port: int) -> Served:
        runner = OracleRunner(1024, lambda _prefix: END_ID)
        return stack.enter_context(serve_scripted(tiny_tokenizer, runner, port=port))

    with ExitStack() as first, ExitStack() as second:
        served = serve(first, 0)
        kill_engine(served)

        def restart() -> None:
            first.close()
            serve(second, served.http.base_url.port or 0)

        caller.on_failure = restart
        caller.check(caller.ask(served.url), 503, 200)


@pytest.fixture
def failing(tiny_tokenizer: TextTokenizer) -> Iterator[Served]:
    word = 100
    runner = OracleRunner(1024, lambda _prefix: word, fails=lambda prefix: prefix.count(word) == 3)
    with serve_scripted(tiny_tokenizer, runner) as served:
        yield served


def test_a_failure_behind_the_first_words_is_raised_with_its_request_id(failing: Served) -> None:
    """What has been streamed cannot be taken back, so nobody tries again."""
    heard = []
    with Anthropic(base_url=failing.url, api_key=KEY, max_retries=3) as client:
        with (
            pytest.raises(anthropic.APIStatusError, match="failed in the engine") as raised,
            client.messages.stream(**{**BODY, "max_tokens": 9}) as stream,
        ):
            heard.extend(stream.text_stream)
        assert (raised.value.request_id or "").startswith("req_")
    assert "".join(heard)
