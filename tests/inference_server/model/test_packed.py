"""The packed layers: near float32, rows independent of each other, any number of rows."""

from pathlib import Path

import pytest
import torch

from inference_server.errors import ConfigError
from inference_server.model.runner import TorchModelRunner, load_model
from tests.inference_server.model.items import in_run, prefill, scattered
from tests.tiny_model import TinyShape, write_tiny_model

PROMPT = [1, 40, 262, 3, 99, 12, 7, 200, 261, 33, 2, 18]
RELATIVE_BOUND = 0.06
"""What rounding rows to eight bits may cost with two layers of random weights."""
TINY_BOUND = 0.25


def test_packed_logits_of_every_architecture_stay_near_float32(architecture_path: Path) -> None:
    exact = load_model(architecture_path, num_slots=64, compute="float32")
    packed = load_model(architecture_path, num_slots=64, compute="packed")
    for length in (1, 2, len(PROMPT)):
        batch = [in_run(PROMPT[:length], 5)]
        expected = exact.logits(batch)
        error = (packed.logits(batch) - expected).norm() / expected.norm()
        assert 0 < error < RELATIVE_BOUND


def test_packed_is_what_the_cpu_gets_by_default(tiny_path: Path) -> None:
    chosen, packed = load_model(tiny_path, num_slots=64), load_model(tiny_path, num_slots=64, compute="packed")
    assert torch.equal(chosen.logits([in_run(PROMPT, 0)]), packed.logits([in_run(PROMPT, 0)]))
    assert chosen.pool.tensor.dtype == torch.bfloat16


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 100])
def test_any_number_of_rows_gives_the_same_rows(tiny_path: Path, count: int) -> None:
    """More rows than ever before need larger buffers; the smaller ones are used again afterwards."""
    runner = load_model(tiny_path, num_slots=512, compute="packed")
    tokens = [4 + (7 * index) % 270 for index in range(count)]
    prefill(runner, tokens, 0, [1] * count)
    one_by_one = runner.logits([in_run(tokens[-1:], 0, count - 1)])
    at_once = runner.logits([in_run(tokens, 200)])
    again = runner.logits([in_run(tokens[-1:], 0, count - 1)])
    assert (at_once - one_by_one).abs().max() < TINY_BOUND
    assert torch.equal(again, one_by_one)


def test_rows_of_a_batch_do_not_touch_each_other(tiny_path: Path) -> None:
    runner = load_model(tiny_path, num_slots=512, compute="packed")
    batch = [in_run(PROMPT, 0), scattered(PROMPT[:5], [90, 81, 72, 63, 54]), in_run([9], 100), in_run(PROMPT[4:], 200)]
    together = runner.logits(batch)
    for row, item in enumerate(batch):
        assert (runner.logits([item])[0] - together[row]).abs().max() < TINY_BOUND / 10


def test_runs_of_two_models_do_not_disturb_each_other(tiny_path: Path, tiny_runner: TorchModelRunner) -> None:
    first, second = (load_model(tiny_path, num_slots=64, compute="packed") for _ in range(2))
    alone = first.logits([in_run(PROMPT, 0)])
    second.logits([in_run(PROMPT[3:], 0)])
    tiny_runner.logits([in_run(PROMPT[1:], 0)])
    assert torch.equal(first.logits([in_run(PROMPT, 0)]), alone)


def test_a_model_of_odd_widths_is_computed_in_float32(tmp_path: Path) -> None:
    odd = write_tiny_model(tmp_path / "odd.gguf", TinyShape(ffn=80))
    chosen, exact = load_model(odd, num_slots=16), load_model(odd, num_slots=16, compute="float32")
    assert torch.equal(chosen.logits([in_run(PROMPT, 0)]), exact.logits([in_run(PROMPT, 0)]))
    with pytest.raises(ConfigError, match="no multiple of 32"):
        load_model(odd, num_slots=16, compute="packed")
