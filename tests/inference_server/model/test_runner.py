"""The runner: batches of every kind, what it refuses, and what one broken item means for the others."""

import random
from array import array
from pathlib import Path

import pytest
import torch

from inference_server.errors import ConfigError, ModelFileError
from inference_server.gguf_file import GgufFile
from inference_server.model.errors import NonFiniteLogits
from inference_server.model.kernels import Compute
from inference_server.model.runner import TorchModelRunner, load_model, load_opened_model
from inference_server.model_runner import BatchItem, ModelRunner, SamplingDraw
from tests.inference_server.model.items import GREEDY, in_run, prefill, scattered

PROMPT = [30, 41, 52, 63, 74, 85]


def test_runner_implements_the_protocol(tiny_runner: TorchModelRunner) -> None:
    runner: ModelRunner = tiny_runner
    assert runner.num_slots == 512


def test_run_samples_behind_items_with_a_draw_only(tiny_runner: TorchModelRunner) -> None:
    batch = [in_run(PROMPT, 0), in_run(PROMPT, 10, draw=GREEDY), in_run([9], 20, draw=GREEDY), in_run([9], 30)]
    logits = tiny_runner.logits(batch)
    sampled = tiny_runner.run(batch)
    assert logits.shape == (4, 276)
    assert sampled == [None, int(logits[1].argmax()), int(logits[2].argmax()), None]


def test_run_without_any_draw_computes_no_logits(tiny_runner: TorchModelRunner) -> None:
    assert tiny_runner.run([in_run(PROMPT, 0), in_run(PROMPT, 10)]) == [None, None]
    assert tiny_runner.pool.tensor[..., :6, :].any()


def test_items_of_a_batch_do_not_touch_each_other(tiny_runner: TorchModelRunner) -> None:
    slots = random.Random(5).sample(range(100, 200), 40)
    prefill(tiny_runner, PROMPT, 50, [])
    tiny_runner.run([scattered(PROMPT, slots)])
    batch = [
        in_run([7], 50, start=6),
        in_run([8, 9, 10], 210),
        scattered([7, 8], slots, start=6),
        in_run([99], 300),
    ]
    together = tiny_runner.logits(batch)
    for row, item in enumerate(batch):
        assert torch.allclose(tiny_runner.logits([item])[0], together[row], atol=1e-4)


def test_slots_may_come_as_any_sequence(tiny_runner: TorchModelRunner) -> None:
    slots = [9, 3, 5, 7, 1, 0]
    logits = [
        tiny_runner.logits([BatchItem(PROMPT, 0, kind, None, None)])
        for kind in (slots, tuple(slots), array("q", slots))
    ]
    assert torch.equal(logits[0], logits[1])
    assert torch.equal(logits[0], logits[2])


def test_banned_tokens_are_never_answered(tiny_path: Path, tiny_runner: TorchModelRunner) -> None:
    best = int(tiny_runner.logits([in_run(PROMPT, 0)])[0].argmax())
    runner = load_model(tiny_path, num_slots=16, compute="float32", banned_token_ids=[best])
    assert runner.run([in_run(PROMPT, 0, draw=GREEDY)]) != [best]
    assert runner.run([in_run(PROMPT, 0, draw=SamplingDraw(1.0, 1.0, 1, 0.0))]) != [best]


def test_not_a_number_in_unused_slots_does_not_matter(tiny_runner: TorchModelRunner) -> None:
    clean = tiny_runner.logits([in_run(PROMPT, 5), scattered(PROMPT, [90, 80, 70, 60, 50, 40])])
    tiny_runner.pool.tensor.fill_(torch.nan)
    assert torch.equal(tiny_runner.logits([in_run(PROMPT, 5), scattered(PROMPT, [90, 80, 70, 60, 50, 40])]), clean)


def test_broken_item_is_named_and_the_others_can_run_again(tiny_runner: TorchModelRunner) -> None:
    prefill(tiny_runner, PROMPT, 0, [])
    prefill(tiny_runner, PROMPT, 20, [])
    tiny_runner.pool.tensor[0, 0, :, 22] = torch.nan
    silent, healthy = in_run([7], 40), in_run([7], 0, start=6, draw=GREEDY)
    with pytest.raises(NonFiniteLogits, match="not numbers") as raised:
        tiny_runner.run([silent, healthy, in_run([7], 20, start=6, draw=GREEDY)])
    assert raised.value.items == (2,)
    (_, token) = tiny_runner.run([silent, healthy])
    assert token is not None


@pytest.mark.parametrize("compute", ["float32", "packed"])
def test_broken_chunk_is_named_though_nothing_is_sampled(tiny_path: Path, compute: Compute) -> None:
    runner = load_model(tiny_path, num_slots=64, compute=compute)
    prefill(runner, PROMPT, 0, [])
    runner.pool.tensor[0, 1, 0, 2] = torch.nan
    with pytest.raises(NonFiniteLogits) as raised:
        runner.run([in_run([9, 8], 20), in_run([7, 8, 9], 0, start=6)])
    assert raised.value.items == (1,)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (BatchItem([], 0, [], None, None), "do not fit"),
        (BatchItem([5], 1, [0], None, None), "do not fit"),
        (BatchItem([5], -1, [], None, None), "do not fit"),
        (BatchItem([5], 1024, range(1025), None, None), "do not fit"),
        (BatchItem([276], 0, [0], None, None), "vocabulary"),
        (BatchItem([-1], 0, [0], None, None), "vocabulary"),
        (BatchItem([5], 0, [512], None, None), "leave the pool"),
        (BatchItem([5, 6], 0, [-1, 3], None, None), "leave the pool"),
        (BatchItem([5, 6], 0, [511, 512], 511, None), "leave the pool"),
        (BatchItem([5], 0, [-1], -1, None), "leave the pool"),
    ],
)
def test_item_that_contradicts_itself_is_refused(tiny_runner: TorchModelRunner, item: BatchItem, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_runner.run([item])


def test_pool_is_sized_in_slots_or_bytes(tiny_path: Path) -> None:
    runner = load_model(tiny_path, kv_bytes=100_000)
    assert runner.kv_bytes_per_token == 2 * 2 * 2 * 16 * 2
    assert runner.num_slots == 100_000 // runner.kv_bytes_per_token
    assert runner.shape.context == 1024
    opened = load_opened_model(GgufFile.open(tiny_path), num_slots=7, compute="float32")
    assert (opened.num_slots, opened.kv_bytes_per_token) == (7, 2 * runner.kv_bytes_per_token)


@pytest.mark.parametrize("size", [{}, {"num_slots": 5, "kv_bytes": 5000}, {"kv_bytes": 10}, {"num_slots": 0}])
def test_pool_of_no_clear_size_is_refused(tiny_path: Path, size: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="KV"):
        load_model(tiny_path, **size)  # type: ignore[arg-type]


def test_missing_cuda_is_one_clear_line(tiny_path: Path) -> None:
    if torch.cuda.is_available():
        assert load_model(tiny_path, num_slots=8, device="cuda").pool.tensor.is_cuda
        return
    with pytest.raises(ConfigError, match="CUDA"):
        load_model(tiny_path, num_slots=8, device="cuda")


def test_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"none\.gguf: cannot be read"):
        load_model(tmp_path / "none.gguf", num_slots=8)
