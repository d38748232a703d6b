"""A whole server whose model says what a test wants: prompts, transcripts, cache, engine and HTTP are the real ones."""

from contextlib import AbstractContextManager
from typing import Any

from inference_server.api.generation import ServedModel
from inference_server.model_runner import ModelRunner
from inference_server.text.chat_template import ChatTemplate
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.serving import Served, serve_runner
from tests.tiny_model import CHAT_TEMPLATE

END_ID = 2
"""The id of ``<|im_end|>``, in the bundled model and in the tiny one."""


class Script:
    """Says the scripted tokens of each answer in turn, then the end token."""

    def __init__(self) -> None:
        self.answer: list[int] = []
        self._said = 0

    def say(self, tokens: list[int]) -> None:
        self.answer, self._said = tokens, 0

    def __call__(self, _prefix: tuple[int, ...]) -> int:
        self._said += 1
        return self.answer[self._said - 1] if self._said <= len(self.answer) else END_ID


def serve_scripted(
    tokenizer: TextTokenizer, runner: ModelRunner, template: str = CHAT_TEMPLATE, **settings: Any
) -> AbstractContextManager[Served]:
    """Serve a runner as the model "scripted", with a ChatML template unless another is given."""
    model = ServedModel("scripted", "Scripted", runner.num_slots, frozenset([END_ID]))
    return serve_runner(model, tokenizer, ChatTemplate(template, bos_token="", eos_token=""), runner, **settings)
