"""Warm and cold answers of a real model in float32 are the same ids, with the cache read in every warm run.

The whole engine over the tiny model's weights: cuts at every token, eviction, many at once.
"""

import random
from pathlib import Path

import pytest

from inference_server.engine import Engine
from inference_server.model.runner import load_model
from inference_server.scheduler import Scheduler
from inference_server.sequence import Sequence
from tests.inference_server.engine_support import endings, run, sequence

OUTPUT = 5


@pytest.fixture
def subject(tiny_model: Path) -> Engine:
    """A new engine with room for the KV of a dozen prompts."""
    runner = load_model(tiny_model, num_slots=400, compute="float32")
    scheduler = Scheduler(400, max_running=8, chunk_tokens=16, mixed_chunk_tokens=lambda _context: 8)
    return Engine(runner, scheduler)


def prompts(count: int, length: int = 24) -> list[list[int]]:
    """Prompts of random tokens that share not even the first one."""
    numbers = random.Random(5)
    return [[4 + first, *(numbers.randrange(4, 276) for _ in range(length - 1))] for first in range(count)]


def ask(subject: Engine, *asked: list[int], scope: bytes = b"", max_tokens: int = OUTPUT) -> list[Sequence]:
    """Answer these prompts at once; a scope of its own makes a run cold."""
    sent = [sequence(prompt, max_tokens, scope=scope, end=()) for prompt in asked]
    ended = endings(run(subject, *sent))
    assert all(ended[item.id].output_tokens == max_tokens for item in sent)
    return sent


def test_twenty_prompts_say_the_same_warm_as_cold(subject: Engine) -> None:
    said = set()
    for number, prompt in enumerate(prompts(20)):
        (cold,) = ask(subject, prompt, scope=b"%d" % number)
        (warm,) = ask(subject, prompt, scope=b"%d" % number)
        assert (cold.cached_tokens, warm.cached_tokens) == (0, len(prompt) - 1)
        assert warm.output == cold.output
        said.add(tuple(cold.output))
    assert len(said) == 20  # Otherwise equal answers would prove nothing.
    assert all(len(set(answer)) > 2 for answer in said)
    assert subject.scheduler.num_evicted > 0


def test_a_prompt_says_the_same_whatever_part_of_it_is_cached(subject: Engine) -> None:
    (prompt,) = prompts(1)
    (cold,) = ask(subject, prompt, scope=b"cold")
    for cached in range(1, len(prompt)):
        scope = b"%d" % cached
        ask(subject, prompt[:cached], scope=scope, max_tokens=0)
        (warm,) = ask(subject, prompt, scope=scope)
        assert warm.cached_tokens == cached
        assert warm.output == cold.output


def test_a_prompt_says_the_same_after_a_part_of_it_was_evicted(subject: Engine) -> None:
    first, *others = prompts(8, length=48)
    (cold,) = ask(subject, first)
    for other in others:
        ask(subject, other)
    (warm,) = ask(subject, first)
    assert 0 < (warm.cached_tokens or 0) < len(first) - 1
    assert warm.output == cold.output


def test_eight_at_once_say_the_same_as_one_by_one(subject: Engine) -> None:
    asked = prompts(8)
    alone = [ask(subject, prompt, scope=b"%d" % number)[0].output for number, prompt in enumerate(asked)]
    cold = ask(subject, *asked, scope=b"together")
    warm = ask(subject, *asked, scope=b"together")
    assert [item.cached_tokens for item in cold] == [0] * 8
    assert [item.cached_tokens for item in warm] == [23] * 8
    assert [item.output for item in cold] == [item.output for item in warm] == alone
