"""Deterministic runs: bit-equal logits however a prompt is split, cached, scattered and batched."""

import random
from pathlib import Path

import pytest
import torch
from torch import Tensor

from inference_server.errors import ConfigError
from inference_server.gguf_file import GgufFile
from inference_server.model.kernels import load_kernels, require_independent_rows
from inference_server.model.packed import PackedLayers
from inference_server.model.runner import TorchModelRunner, load_model
from inference_server.model.shape import read_shape
from inference_server.model.weights import read_weights
from tests.inference_server.model.items import in_run, prefill, scattered


@pytest.fixture(scope="module")
def tiny_deterministic(tiny_path: Path) -> TorchModelRunner:
    return load_model(tiny_path, num_slots=2000, compute="packed", deterministic=True)


def random_split(numbers: random.Random, length: int) -> list[int]:
    """Sizes of chunks, ones among them."""
    sizes: list[int] = []
    while sum(sizes) < length - 1:
        sizes.append(min(numbers.choice([1, 1, 2, 5, 17, 60]), length - 1 - sum(sizes)))
    return sizes


def expect_equal_logits(runner: TorchModelRunner, prompt: list[int], numbers: random.Random) -> None:
    last = len(prompt) - 1
    cold = runner.logits([in_run(prompt, 0)])[0]
    prefill(runner, prompt[:last], 700, random_split(numbers, len(prompt)))
    others = [in_run([9, 8, 7], 1500), in_run([5], 1600)]
    warm = runner.logits([*others[: numbers.randrange(3)], in_run(prompt[last:], 700, last)])[-1]
    assert torch.equal(warm, cold)


def test_tiny_logits_are_bit_equal_over_random_splits(tiny_deterministic: TorchModelRunner) -> None:
    numbers = random.Random(3)
    for length in (1, 2, 9, 40, 130, 520):
        prompt = [numbers.randrange(4, 276) for _ in range(length)]
        expect_equal_logits(tiny_deterministic, prompt, numbers)


def test_scattered_slots_give_bit_equal_logits(tiny_deterministic: TorchModelRunner) -> None:
    prompt = [20 + index % 200 for index in range(70)]
    cold = tiny_deterministic.logits([in_run(prompt, 0)])
    slots = random.Random(1).sample(range(1000, 1200), 70)
    tiny_deterministic.run([scattered(prompt[:33], slots)])
    assert torch.equal(tiny_deterministic.logits([scattered(prompt[33:], slots, start=33)]), cold)


def test_deterministic_logits_are_those_of_the_model(tiny_path: Path, tiny_deterministic: TorchModelRunner) -> None:
    usual = load_model(tiny_path, num_slots=64, compute="packed")
    batch = [in_run([1, 40, 262, 3, 99], 0)]
    assert (usual.logits(batch) - tiny_deterministic.logits(batch)).abs().max() < 0.25


@pytest.mark.model
def test_bundled_logits_are_bit_equal_over_random_splits(bundled_path: Path, bundled_prompts: list[list[int]]) -> None:
    runner = load_model(bundled_path, num_slots=2000, deterministic=True)
    numbers = random.Random(5)
    for prompt in bundled_prompts[:3]:
        expect_equal_logits(runner, prompt, numbers)


def test_deterministic_needs_packed_weights(tiny_path: Path) -> None:
    with pytest.raises(ConfigError, match="need packed weights, not float32"):
        load_model(tiny_path, num_slots=8, compute="float32", deterministic=True)


class BatchDependent(PackedLayers):
    """As on a processor that multiplies many rows by another kernel than few."""

    def logits(self, stream: Tensor) -> Tensor:
        return super().logits(stream) * (1 + 1e-6 * (len(stream) > 8))


def test_a_processor_whose_rounding_depends_on_the_batch_is_told(tiny_path: Path) -> None:
    file = GgufFile.open(tiny_path)
    shape = read_shape(file)
    weights = read_weights(file, shape)
    require_independent_rows(PackedLayers(shape, weights, one_kernel=True), shape)
    with pytest.raises(ConfigError, match="run without --deterministic"):
        require_independent_rows(BatchDependent(shape, weights, one_kernel=True), shape)


def test_packed_weights_need_a_cpu_and_widths_of_whole_blocks(tiny_path: Path) -> None:
    file = GgufFile.open(tiny_path)
    shape = read_shape(file)
    with pytest.raises(ConfigError, match="the device is cuda"):
        load_kernels(shape, read_weights(file, shape), "packed", torch.device("cuda"), deterministic=False)
