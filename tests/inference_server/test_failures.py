"""A failing request ends alone; memory is bounded by the chunk; an engine that is really dead says so."""

from collections.abc import Sequence

import httpx
import pytest

from inference_server.engine import Engine
from inference_server.model_runner import BatchItem
from inference_server.scheduler import Scheduler
from inference_server.sequence import StopReason
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.engine_support import answer_alone, endings, engine, never_ends, run, sequence
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import serve_scripted
from tests.inference_server.serving import user


@pytest.mark.parametrize(("phase", "length"), [("first chunk", 3), ("mid prefill", 22), ("decode", 38)])
def test_a_request_that_fails_in_any_phase_ends_alone(phase: str, length: int) -> None:
    subject = engine(256, never_ends, fails=lambda prefix: prefix[0] == 7 and len(prefix) == length)
    fine = [sequence([n, 1, 2], 40) for n in (1, 2, 3)]
    broken = sequence([7] * 30, 20)
    ended = endings(run(subject, *fine, broken))
    assert ended[broken.id].reason is StopReason.FAILED
    assert (ended[broken.id].output_tokens > 0) is (phase == "decode")
    for item in fine:
        assert ended[item.id].reason is StopReason.MAX_TOKENS
        assert list(item.output) == answer_alone(item.prompt, 40, never_ends)
    retry = sequence([7] * (length - 1), 1)  # What was computed before the failure is whole.
    run(subject, retry)
    assert list(retry.output) == answer_alone(retry.prompt, 1, never_ends)


class RowCounter(OracleRunner):
    """Remembers the largest batch."""

    most_rows = 0

    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        self.most_rows = max(self.most_rows, sum(len(item.tokens) for item in batch))
        return super().run(batch)


def test_the_longest_prompt_that_fits_is_computed_in_bounded_chunks() -> None:
    runner = RowCounter(300, never_ends)
    scheduler = Scheduler(300, max_running=4, chunk_tokens=32, mixed_chunk_tokens=lambda _context: 8)
    subject = Engine(runner, scheduler)
    run(subject, sequence(range(1000, 1200), 1))
    longest = sequence(range(300), 1)
    run(subject, longest)
    assert list(longest.output) == answer_alone(range(300), 1, never_ends)
    assert runner.most_rows == 32


def test_an_engine_that_ends_by_anything_but_a_stop_is_dead(tiny_tokenizer: TextTokenizer) -> None:
    """Not only by an Exception: a server that looks alive while nobody computes lets its callers hang."""

    def end_the_thread(_prefix: tuple[int, ...]) -> int:
        raise SystemExit

    with serve_scripted(tiny_tokenizer, OracleRunner(1024, end_the_thread)) as served:
        body = {"model": "scripted", "max_tokens": 5, "messages": [user("Hello")]}
        for _ in range(2):
            refused = served.http.post("/v1/messages", json=body, timeout=httpx.Timeout(10))
            assert (refused.status_code, refused.json()["error"]["type"]) == (503, "api_error")
        assert served.http.get("/health").status_code == 503
        assert served.deaths == [None]
