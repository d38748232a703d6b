"""A stream is never silent for long: headers and a ping at once, and pings through a prefill of any length."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import END_ID, serve_scripted
from tests.inference_server.serving import CONFIG, user

BODY = {"model": "scripted", "max_tokens": 5, "messages": [user("Hello")], "stream": True}


@contextmanager
def stream_that_waits(tokenizer: TextTokenizer, **settings: float) -> Iterator[tuple[Iterator[str], threading.Event]]:
    """The lines of a stream whose first token is not sampled before the event is set."""
    gate = threading.Event()

    def next_token(_prefix: tuple[int, ...]) -> int:
        assert gate.wait(20), "what comes before the first token did not come"
        return END_ID

    with serve_scripted(tokenizer, OracleRunner(1024, next_token), **settings) as served:
        try:
            with served.http.stream("POST", "/v1/messages", json=BODY, timeout=10) as response:
                assert response.status_code == 200
                yield response.iter_lines(), gate
        finally:
            gate.set()


def names(lines: Iterator[str]) -> Iterator[str]:
    return (line.removeprefix("event: ") for line in lines if line.startswith("event: "))


def test_headers_a_ping_and_the_usage_come_before_the_first_token(tiny_tokenizer: TextTokenizer) -> None:
    with stream_that_waits(tiny_tokenizer) as (lines, gate):
        assert next(lines) == "event: ping"
        assert "message_start" in names(lines)
        gate.set()
        assert list(names(lines))[-1] == "message_stop"


def test_silence_is_broken_by_pings(tiny_tokenizer: TextTokenizer) -> None:
    assert CONFIG.ping_s <= 15
    with stream_that_waits(tiny_tokenizer, ping_s=0.1) as (lines, gate):
        assert "content_block_start" in names(lines)
        assert list(islice(names(lines), 3)) == ["ping"] * 3
        gate.set()
        assert list(names(lines))[-1] == "message_stop"
