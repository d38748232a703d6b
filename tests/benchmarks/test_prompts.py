"""The texts of the workloads: the same for a seed, another for another, of about the length that was asked for."""

import pytest

from benchmarks.prompts import MARKER_TOKENS, question
from inference_server.bundled_model import bundled_model
from inference_server.gguf_file import GgufFile
from inference_server.text.tokenizer import TextTokenizer


def test_question_is_the_same_for_the_same_seed() -> None:
    assert question("one", 90) == question("one", 90)
    assert question("one", 90) != question("two", 90)


@pytest.mark.parametrize("tokens", [64, 90, 1100, 7500])
def test_question_has_about_so_many_tokens(tokens: int) -> None:
    tokenizer = TextTokenizer(GgufFile.open(bundled_model()).metadata)
    counted = len(tokenizer.encode_content(question("length", tokens))) + MARKER_TOKENS
    assert counted == pytest.approx(tokens, rel=0.03)
