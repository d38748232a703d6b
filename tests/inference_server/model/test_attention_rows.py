"""Where a position looks, computed again from the KV in the pool, against a whole forward pass of the prompt."""

from pathlib import Path

import pytest
import torch

from inference_server.gguf_file import GgufFile
from inference_server.model.kernels import Compute
from inference_server.model.runner import TorchModelRunner, load_model
from tests.inference_server.model.hugging_face import HuggingFaceModel
from tests.inference_server.model.items import in_run, prefill, scattered

TOKENS = [1, 40, 262, 3, 99, 12, 7, 200, 261, 33, 2, 18]
BOUND = 1e-3


def row(runner: TorchModelRunner, position: int, layer: int, first_slot: int = 5) -> torch.Tensor:
    slots = range(first_slot, first_slot + position + 1)
    return torch.tensor([list(head) for head in runner.attention(TOKENS[position], slots, layer)])


@pytest.mark.parametrize("compute", ["float32", "packed"])
def test_every_row_equals_the_oracle(architecture_path: Path, compute: Compute) -> None:
    oracle = HuggingFaceModel(GgufFile.open(architecture_path))
    runner = load_model(architecture_path, num_slots=64, compute=compute)
    bound = BOUND if compute == "float32" else 0.05  # Rows are rounded to eight bits, and keys to bfloat16.
    prefill(runner, TOKENS, 5, [4, 1])
    for layer in range(runner.layers):
        expected = oracle.attention(TOKENS, layer)
        for position in range(len(TOKENS)):
            found = row(runner, position, layer)
            assert found.shape == (runner.heads, position + 1)
            assert (found.sum(dim=1) - 1).abs().max() < 1e-5
            assert (found - expected[:, position, : position + 1]).abs().max() < bound


def test_it_reads_the_pool_wherever_the_slots_lie_and_writes_nothing(tiny_runner: TorchModelRunner) -> None:
    runner = tiny_runner
    runner.run([in_run(TOKENS, 5)])
    slots = [40, 61, 33, 50, 44, 38, 62, 35, 57, 41, 36, 59]
    runner.run([scattered(TOKENS, slots)])
    before = runner.pool.tensor.clone()
    scattered_row = torch.tensor([list(head) for head in runner.attention(TOKENS[-1], slots, 1)])
    assert torch.allclose(scattered_row, row(runner, len(TOKENS) - 1, 1), atol=1e-6)
    assert torch.equal(runner.pool.tensor, before)


@pytest.mark.parametrize("changed_layer", [0, 1])
def test_it_changes_with_the_kv_in_the_pool(tiny_runner: TorchModelRunner, changed_layer: int) -> None:
    """In the layer itself by its keys, in a layer below by what flows up."""
    runner = tiny_runner
    runner.run([in_run(TOKENS, 5)])
    before = row(runner, 11, 1)
    runner.pool.tensor[changed_layer, :, :, 5 + 3] += 2.0
    assert (row(runner, 11, 1) - before).abs().max() > 10 * BOUND
    runner.run([in_run(TOKENS, 5)])
    assert torch.allclose(row(runner, 11, 1), before, atol=1e-6)
