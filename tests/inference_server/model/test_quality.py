"""What packed weights cost: the perplexity on a fixed text, against the dequantised weights in float32."""

import math
from pathlib import Path

import pytest
import torch

from inference_server.gguf_file import GgufFile
from inference_server.model.kernels import Compute
from inference_server.model.runner import load_model
from tests.inference_server.model.items import in_run
from tests.inference_server.model.prompts import load_tokenizer

HIGHEST_LOSS = 1.005
BATCH = 64


def perplexity(path: Path, tokens: list[int], compute: Compute) -> float:
    """Of every token but the first, each behind all tokens before it."""
    runner = load_model(path, num_slots=len(tokens), compute=compute)
    following = torch.tensor(tokens[1:])
    total = 0.0
    for start in range(0, len(following), BATCH):
        end = min(start + BATCH, len(following))
        # Items that follow each other in one run see each other as the rows of a chunk do, and all have logits.
        logits = runner.logits([in_run([tokens[position]], 0, position) for position in range(start, end)])
        total += float(torch.nn.functional.cross_entropy(logits, following[start:end], reduction="sum"))
    return math.exp(total / len(following))


@pytest.mark.model
def test_packed_weights_keep_the_perplexity(bundled_path: Path, bundled_file: GgufFile) -> None:
    text = Path(__file__).with_name("passage.txt").read_text()
    tokens = load_tokenizer(bundled_file).encode(text).ids
    assert len(tokens) > 900
    exact = perplexity(bundled_path, tokens, "float32")
    assert 5 < exact < 50
    assert perplexity(bundled_path, tokens, "packed") < exact * HIGHEST_LOSS
