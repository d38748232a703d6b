"""Readers that are slower than the model: nothing is lost, nobody else waits, and one that stalls is let go."""

import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import anyio
import pytest

from inference_server.async_engine import Mailbox
from inference_server.engine import Finished, Prefilled, TextGenerated
from inference_server.errors import EngineDead
from inference_server.model_runner import BatchItem
from inference_server.sequence import StopReason
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import serve_scripted
from tests.inference_server.serving import KEY, Served, until, user

pytestmark = pytest.mark.anyio

HELLO = [user("Hello")]
OUTPUT = 1500
"""Tokens of a long answer: more text than the buffers between the model and a reader hold."""


async def test_a_reader_of_a_dead_engine_gets_what_came_before_and_then_the_news() -> None:
    mailbox = Mailbox()
    mailbox.put(TextGenerated("a", "last words"))
    mailbox.close()
    assert await mailbox.take() == [TextGenerated("a", "last words")]
    with pytest.raises(EngineDead), anyio.fail_after(5):
        await mailbox.take()


async def test_a_mailbox_joins_what_is_not_taken() -> None:
    mailbox = Mailbox()
    for processed in range(100):
        mailbox.put(Prefilled("a", 100, 0, processed))
    for number in range(1000):
        mailbox.put(TextGenerated("a", f"{number} "))
    end = Finished("a", StopReason.END_TURN, None, 1000)
    mailbox.put(end)
    text = "".join(f"{number} " for number in range(1000))
    assert await mailbox.take() == [Prefilled("a", 100, 0, 99), TextGenerated("a", text), end]


class WideTokens(OracleRunner):
    """Says the vocabulary's longest tokens, by position, as fast as it can."""

    def __init__(self, tokenizer: TextTokenizer, seconds: float = 0.0) -> None:
        super().__init__(200_000, lambda _prefix: 0)
        ordinary = [n for n in range(len(tokenizer.pieces)) if n not in tokenizer.control_ids]
        self.wide = sorted(ordinary, key=lambda n: len(tokenizer.token_bytes(n)))[-7:]
        self._seconds = seconds

    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        time.sleep(self._seconds)
        return [None if item.draw is None else self.wide[len(item.slots) % 7] for item in batch]


@contextmanager
def unread(served: Served, max_tokens: int) -> Iterator[socket.socket]:
    """A streamed request of which nothing is read, with buffers as small as they can be."""
    body = json.dumps({"model": "scripted", "max_tokens": max_tokens, "messages": HELLO, "stream": True}).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: {KEY}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        reader.connect((served.http.base_url.host, served.http.base_url.port))
        reader.sendall(head.encode() + body)
        yield reader


def text_of(received: bytes) -> str:
    lines = received.decode().splitlines()
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert data[-1]["type"] == "message_stop"
    return "".join(item["delta"]["text"] for item in data if item["type"] == "content_block_delta")


def test_slow_readers_get_every_token_and_keep_nobody_waiting(tokenizer: TextTokenizer) -> None:
    runner = WideTokens(tokenizer)
    with serve_scripted(tokenizer, runner, send_buffer=4096) as served, ExitStack() as stack:
        slow = [stack.enter_context(unread(served, OUTPUT)) for _ in range(4)]
        until(lambda: len(served.scheduler.running) == len(slow))
        normal = [served.ask(HELLO, max_tokens=50) for _ in range(3)]  # While nobody reads the long answers.
        prompt = served.count(HELLO)
        until(lambda: not served.scheduler.running)
        assert served.app.state.engine.num_requests == len(slow)  # Computed, but not yet taken.
        right = [tokenizer.text([runner.wide[(prompt + n) % 7]]) for n in range(OUTPUT)]
        assert [reply["content"][0]["text"] for reply in normal] == ["".join(right[:50])] * 3
        for reader in slow:
            received = b"".join(iter(partial(reader.recv, 700), b""))
            assert text_of(received) == "".join(right)


def test_a_reader_that_stalls_is_aborted(tokenizer: TextTokenizer) -> None:
    runner = WideTokens(tokenizer, seconds=0.001)
    with serve_scripted(tokenizer, runner, send_timeout_s=1, send_buffer=4096) as served, unread(served, 90_000):
        until(lambda: served.scheduler.running)
        assert served.count(HELLO) > 0  # Others are served meanwhile.
        until(lambda: 'requests_total{status="aborted"} 1.0' in served.http.get("/metrics").text)
        assert served.scheduler.num_live == 0
