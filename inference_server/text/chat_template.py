"""A model's chat template: which text of a prompt is the template's, and which is content.

Each message's content is rendered between two markers with a nonce that stands in no content. So it is known exactly
which characters come from the template (control tokens allowed) and which from a person or the model (never).
Templates come with model files, so they run in Jinja's sandbox.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from inference_server.errors import InvalidRequest, ModelFileError

FIXED_DATE = "2024-01-01"
"""What ``strftime_now`` returns: a moving date at the front of the prompt would undo the cache every day."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as the template sees it. ``blocks`` are encoded one by one and stand side by side."""

    role: str
    blocks: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole content."""
        return "".join(self.blocks)


@dataclass(frozen=True, slots=True)
class Frame:
    """The template's own text: what stands before each message's content, and what follows the last one's."""

    before: tuple[str, ...]
    after: str


class ChatTemplate:
    """Renders conversations. Stateless after construction, so threads may share it."""

    def __init__(self, source: str, *, bos_token: str, eos_token: str) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda _format: FIXED_DATE
        environment.filters["tojson"] = _tojson
        self.source = source
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelFileError(f"the chat template cannot be read: {error}") from error

    def frame(self, messages: Sequence[ChatMessage]) -> Frame:
        """Render ``messages``, ending where the model's answer begins.

        A last assistant message is a prefill: the text ends behind its content. Raises InvalidRequest when the
        template refuses or rewrites a message.
        """
        is_prefill = messages[-1].role == "assistant"
        nonce = str(secrets.randbits(128))  # Digits, since a template may change the case of letters.
        wrapped = [
            {"role": m.role, "content": f"{_start(nonce, i)}{m.text}{_end(nonce, i)}"} for i, m in enumerate(messages)
        ]
        try:
            text = self._template.render(messages=wrapped, add_generation_prompt=not is_prefill, **self._tokens)
        except Exception as error:  # A template is foreign code: it may raise anything.
            raise InvalidRequest("messages", f"the model's chat template refuses them: {error}") from error
        before = []
        for index, message in enumerate(messages):
            preceding, content, text = _cut(text, nonce, index)
            if content != message.text:
                raise InvalidRequest(f"messages.{index}", "the model's chat template rewrites this message")
            before.append(preceding)
        return Frame(tuple(before), "" if is_prefill else text)


def _start(nonce: str, index: int) -> str:
    return f"[{nonce}:{index}["


def _end(nonce: str, index: int) -> str:
    return f"]{nonce}:{index}]"


def _cut(text: str, nonce: str, index: int) -> tuple[str, str, str]:
    """Split rendered text at a message's markers: (before, content, after)."""
    before, started, rest = text.partition(_start(nonce, index))
    content, ended, after = rest.partition(_end(nonce, index))
    if not started or not ended or nonce in before or _start(nonce, index) in after:
        raise InvalidRequest(f"messages.{index}", "the model's chat template drops, repeats or moves this message")
    return before, content, after


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _tojson(value: Any, indent: int | None = None) -> str:
    """The filter as Hugging Face templates expect it: no HTML escapes, non-ASCII kept."""
    return json.dumps(value, ensure_ascii=False, indent=indent)
