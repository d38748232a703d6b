"""A warm answer equals a cold one: the same logits within a stated bound, equal greedy ids in float32.

Each way warms a prompt differently and says how many of its tokens came from the pool. In the default precision one row
is multiplied by another kernel than many and attention rounds by its shape, so warm and cold may differ by rounding;
where the best token differs, the two must have been closer than the bound. The bound is twice the usual difference:
once two rows differ at all, rounding them to eight bits for 30 layers drives them about 0.7 apart at the worst token.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from inference_server.model.kernels import Compute
from inference_server.model.runner import TorchModelRunner, load_model
from inference_server.model_runner import BatchItem
from tests.inference_server.model.items import greedy_answer, in_run, prefill, scattered

FLOAT32_BOUND = 1e-4
DEFAULT_BOUND = 2.0

# Takes a runner and a prompt; leaves a part of the prompt in the pool. Returns the slots for the whole prompt and
# its continuation, and how many tokens are cached.
Warming = Callable[[TorchModelRunner, Sequence[int]], tuple[Sequence[int], int]]
COLD_RUN, WARM_RUN, OTHER_RUN = range(100), range(100, 200), range(200, 300)


def keep_all_but_the_last(runner: TorchModelRunner, prompt: Sequence[int]) -> tuple[Sequence[int], int]:
    prefill(runner, prompt[:-1], WARM_RUN[0], [])
    return WARM_RUN, len(prompt) - 1


def keep_odd_chunks(runner: TorchModelRunner, prompt: Sequence[int]) -> tuple[Sequence[int], int]:
    cached = len(prompt) - 5
    prefill(runner, prompt[:cached], WARM_RUN[0], [7, 1, 3])
    return WARM_RUN, cached


def copy_the_prefix(runner: TorchModelRunner, prompt: Sequence[int]) -> tuple[Sequence[int], int]:
    cached = len(prompt) // 2
    runner.run([scattered(prompt[:cached], _shuffled(OTHER_RUN))])
    runner.copy_kv(_shuffled(OTHER_RUN)[:cached], WARM_RUN[0])
    return WARM_RUN, cached


def copy_a_run(runner: TorchModelRunner, prompt: Sequence[int]) -> tuple[Sequence[int], int]:
    cached = len(prompt) - 2
    prefill(runner, prompt[:cached], WARM_RUN[0] + 3, [])
    runner.copy_kv(range(WARM_RUN[0] + 3, WARM_RUN[0] + 3 + cached), WARM_RUN[0])
    return WARM_RUN, cached


def scatter_the_slots(runner: TorchModelRunner, prompt: Sequence[int]) -> tuple[Sequence[int], int]:
    cached = len(prompt) - 9
    runner.run([scattered(prompt[:cached], _shuffled(OTHER_RUN))])
    return _shuffled(OTHER_RUN), cached


def decode_the_prefix(runner: TorchModelRunner, prompt: Sequence[int]) -> tuple[Sequence[int], int]:
    cached = len(prompt) - 3
    prefill(runner, prompt[:cached], WARM_RUN[0], [cached - 3, 1, 1, 1])
    return WARM_RUN, cached


def share_the_batches(runner: TorchModelRunner, prompt: Sequence[int]) -> tuple[Sequence[int], int]:
    cached = len(prompt) - 4
    others = [scattered([9, 8, 7], _shuffled(OTHER_RUN)), in_run([4], 300), in_run([11] * 12, 320)]
    runner.run([*others[:2], in_run(prompt[:cached], WARM_RUN[0]), others[2]])
    return WARM_RUN, cached


WARMINGS: tuple[Warming, ...] = (
    keep_all_but_the_last,
    keep_odd_chunks,
    copy_the_prefix,
    copy_a_run,
    scatter_the_slots,
    decode_the_prefix,
    share_the_batches,
)


def _shuffled(slots: range) -> list[int]:
    return random.Random(3).sample(slots, len(slots))


def _last_logits(
    runner: TorchModelRunner, prompt: Sequence[int], slots: Sequence[int], cached: int, *, alone: bool = True
) -> Tensor:
    run_start = slots[0] if isinstance(slots, range) else None
    item = BatchItem(prompt[cached:], cached, slots[: len(prompt)], run_start, None)
    others = [] if alone else [in_run([21], 400), in_run([30, 31, 32], 410)]
    return runner.logits([*others, item])[-1]


@pytest.mark.parametrize("warm", WARMINGS)
def test_float32_warm_ids_equal_cold_ids(tiny_runner: TorchModelRunner, warm: Warming) -> None:
    numbers = random.Random(1)
    for length in (12, 19, 33, 64):
        prompt = [numbers.randrange(4, 276) for _ in range(length)]
        cold = greedy_answer(tiny_runner, prompt, COLD_RUN, cached=0, length=12)
        cold_logits = _last_logits(tiny_runner, prompt, COLD_RUN, 0)
        slots, cached = warm(tiny_runner, prompt)
        assert cached > 0
        assert (_last_logits(tiny_runner, prompt, slots, cached) - cold_logits).abs().max() < FLOAT32_BOUND
        assert greedy_answer(tiny_runner, prompt, slots, cached, length=12) == cold


@pytest.mark.parametrize("prompt_number", range(20))
@pytest.mark.model
def test_bundled_warm_logits_stay_near_cold(
    bundled_prompts: list[list[int]], bundled_runner: TorchModelRunner, prompt_number: int
) -> None:
    prompt = bundled_prompts[prompt_number]
    cold = _last_logits(bundled_runner, prompt, COLD_RUN, 0)
    slots, cached = WARMINGS[prompt_number % len(WARMINGS)](bundled_runner, prompt)
    assert cached > 0
    warm = _last_logits(bundled_runner, prompt, slots, cached, alone=prompt_number % 2 == 0)
    assert (warm - cold).abs().max() < DEFAULT_BOUND
    assert cold.max() - cold[warm.argmax()] < DEFAULT_BOUND


@pytest.mark.parametrize("compute", ["bfloat16", "packed"])
def test_few_rows_and_many_rows_stay_together(tiny_path: Path, compute: Compute) -> None:
    runner = load_model(tiny_path, num_slots=300, compute=compute)
    prompt = list(range(10, 50))
    at_once = runner.logits([in_run(prompt, 0)])[0]
    prefill(runner, prompt[:-1], 100, [1] * (len(prompt) - 1))
    one_by_one = runner.logits([in_run(prompt[-1:], 100, len(prompt) - 1)])[0]
    assert (at_once - one_by_one).abs().max() < 0.25


def test_greedy_answers_of_the_tiny_model_depend_on_the_first_token(tiny_runner: TorchModelRunner) -> None:
    """Otherwise equal ids would prove nothing."""
    numbers = random.Random(2)
    tail = [numbers.randrange(4, 276) for _ in range(20)]
    answers = {tuple(greedy_answer(tiny_runner, [first, *tail], COLD_RUN, 0, 12)) for first in (10, 11, 12)}
    assert len(answers) == 3
    assert all(len(set(answer)) > 4 for answer in answers)


def test_wrong_kv_would_be_noticed(tiny_runner: TorchModelRunner) -> None:
    prompt = list(range(20, 40))
    cold = _last_logits(tiny_runner, prompt, COLD_RUN, 0)
    prefill(tiny_runner, [prompt[1], prompt[0], *prompt[2:]], WARM_RUN[0], [])
    warm = _last_logits(tiny_runner, prompt, WARM_RUN, len(prompt) - 1)
    assert not torch.allclose(warm, cold, atol=100 * FLOAT32_BOUND)
