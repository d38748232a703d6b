"""Logits against Hugging Face transformers with the same dequantised weights.

Bounds: in float32 the two differ by the order of summation only. In bfloat16 the bound is what rounding the weights
and the activations of 30 layers may cost; packed, what rounding the activations to eight bits may.
"""

from pathlib import Path

import pytest
import torch

from inference_server.gguf_file import GgufFile
from inference_server.model.runner import TorchModelRunner, load_model
from tests.inference_server.model.hugging_face import HuggingFaceModel
from tests.inference_server.model.items import greedy_answer, in_run
from tests.inference_server.model.prompts import chat_text, load_tokenizer

TINY_FLOAT32_BOUND = 1e-4
BUNDLED_FLOAT32_BOUND = 5e-3
BUNDLED_BFLOAT16_BOUND = 1.0
BUNDLED_PACKED_BOUND = 2.0


def test_float32_logits_of_every_architecture_equal_the_oracle(architecture_path: Path) -> None:
    oracle = HuggingFaceModel(GgufFile.open(architecture_path))
    runner = load_model(architecture_path, num_slots=64, compute="float32")
    tokens = [1, 40, 262, 3, 99, 12, 7, 200, 261, 33, 2, 18]

    expected = oracle.logits(tokens)
    for length in (1, 2, len(tokens)):
        logits = runner.logits([in_run(tokens[:length], 5)])[0]
        assert (logits - expected[length - 1]).abs().max() < TINY_FLOAT32_BOUND


def test_untied_head_equals_the_oracle(tiny_path: Path, tiny_runner: TorchModelRunner) -> None:
    tokens = [5, 6, 7, 270]
    expected = HuggingFaceModel(GgufFile.open(tiny_path)).logits(tokens)[-1]
    assert (tiny_runner.logits([in_run(tokens, 0)])[0] - expected).abs().max() < TINY_FLOAT32_BOUND


@pytest.mark.model
def test_bundled_float32_logits_equal_the_oracle(
    bundled_path: Path, bundled_prompts: list[list[int]], bundled_oracle: HuggingFaceModel
) -> None:
    runner = load_model(bundled_path, num_slots=64, compute="float32")
    for prompt in bundled_prompts[:3]:
        difference = runner.logits([in_run(prompt, 0)])[0] - bundled_oracle.logits(prompt)[-1]
        assert difference.abs().max() < BUNDLED_FLOAT32_BOUND


@pytest.mark.model
def test_bundled_packed_logits_stay_near_the_oracle(
    bundled_prompts: list[list[int]], bundled_runner: TorchModelRunner, bundled_oracle: HuggingFaceModel
) -> None:
    for prompt in bundled_prompts[:5]:
        expected = bundled_oracle.logits(prompt)[-1]
        logits = bundled_runner.logits([in_run(prompt, 0)])[0]
        assert (logits - expected).abs().max() < BUNDLED_PACKED_BOUND
        assert expected.max() - expected[logits.argmax()] < BUNDLED_PACKED_BOUND


@pytest.mark.model
def test_bundled_bfloat16_logits_stay_near_the_oracle(
    bundled_path: Path, bundled_prompts: list[list[int]], bundled_oracle: HuggingFaceModel
) -> None:
    runner = load_model(bundled_path, num_slots=64, compute="bfloat16")
    prompt = bundled_prompts[0]
    expected = bundled_oracle.logits(prompt)[-1]
    logits = runner.logits([in_run(prompt, 0)])[0]
    assert (logits - expected).abs().max() < BUNDLED_BFLOAT16_BOUND
    assert expected.max() - expected[logits.argmax()] < BUNDLED_BFLOAT16_BOUND


@pytest.mark.model
def test_bundled_model_answers_in_words(bundled_file: GgufFile, bundled_runner: TorchModelRunner) -> None:
    tokenizer = load_tokenizer(bundled_file)
    prompt = tokenizer.encode(chat_text("What is the capital of France?")).ids
    answer = greedy_answer(bundled_runner, prompt, range(500, 600), cached=0, length=8)
    assert "Paris" in tokenizer.decode(answer)


def test_bfloat16_tiny_logits_stay_near_float32(tiny_path: Path, tiny_runner: TorchModelRunner) -> None:
    narrow = load_model(tiny_path, num_slots=64, compute="bfloat16")
    tokens = [1, 40, 262, 3, 99, 12]
    exact, rounded = tiny_runner.logits([in_run(tokens, 0)]), narrow.logits([in_run(tokens, 0)])
    assert rounded.dtype == torch.float32
    assert 0 < (rounded - exact).abs().max() < 0.25
