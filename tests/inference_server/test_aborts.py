"""A caller that goes away during a long prefill: the work ends with the present chunk, and what is whole stays."""

import threading
from collections.abc import Sequence

import httpx
import pytest

from inference_server.model_runner import BatchItem
from inference_server.sequence import StopReason
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.engine_support import answer_alone, endings, engine, never_ends, run, sequence, step
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import END_ID, serve_scripted
from tests.inference_server.serving import until, user

CHUNK = 64


@pytest.mark.parametrize("chunks", [0, 1, 3])
def test_an_aborted_prefill_leaves_its_whole_chunks_and_nothing_live(chunks: int) -> None:
    subject = engine(9000, never_ends, chunk_tokens=16)
    long = sequence(range(8000), 50)
    subject.add(long)
    for _ in range(chunks):
        step(subject)
    subject.abort(long.id)
    next_turn = sequence([*range(64), 9000], 4)
    ended = endings(run(subject, next_turn))
    assert (ended[long.id].reason, ended[long.id].output_tokens) == (StopReason.ABORTED, 0)
    assert next_turn.cached_tokens == 16 * chunks
    assert list(next_turn.output) == answer_alone(next_turn.prompt, 4, never_ends)
    runner = subject._runner
    assert isinstance(runner, OracleRunner)
    assert runner.rows == 65 + 3


class GatedPrefill(OracleRunner):
    """Stops in the second chunk of the first prompt until it is let through."""

    def __init__(self) -> None:
        super().__init__(4096, lambda _prefix: END_ID)
        self.is_inside, self.gate = threading.Event(), threading.Event()

    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        if any(item.start == CHUNK and len(item.tokens) == CHUNK for item in batch):
            self.is_inside.set()
            self.gate.wait(20)
        return super().run(batch)


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_that_leaves_during_a_prefill_stops_it(tiny_tokenizer: TextTokenizer, stream: bool) -> None:
    runner = GatedPrefill()
    question = [user("x" * 1000)]
    body = {"model": "scripted", "max_tokens": 5, "messages": question, "stream": stream}
    settings = {"max_running": 1, "max_waiting": 0, "chunk_tokens": CHUNK}
    with serve_scripted(tiny_tokenizer, runner, **settings) as served:
        try:
            with (
                pytest.raises(httpx.ReadTimeout),
                served.http.stream("POST", "/v1/messages", json=body, timeout=0.3) as response,
            ):
                for _ in response.iter_lines():
                    pass
            assert runner.is_inside.wait(20)
            until(lambda: served.app.state.engine.num_requests == 0)
        finally:
            runner.gate.set()
        usage = served.ask(question)["usage"]  # At once, and not refused.
        assert usage["cache_read_input_tokens"] == 2 * CHUNK
        assert 'requests_total{status="aborted"} 1.0' in served.http.get("/metrics").text
        assert (served.scheduler.num_live, served.scheduler.running, served.scheduler.waiting) == (0, [], [])
        served.scheduler.check()
