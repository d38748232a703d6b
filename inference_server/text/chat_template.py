"""A model's chat template: which text of a prompt is the template's, and which is content.

Contents are hidden from the template behind marks with a nonce. So it is known exactly which characters come from the
template (control tokens allowed) and which from a person or the model (never), and no template can trim or rewrite
what was said. Templates come with model files, so they run in Jinja's sandbox.
"""

import json
import re
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
class Piece:
    """Text that is encoded as one: a content block of ``message``, or (None) text of the template."""

    text: str
    message: int | None = None
    block: int | None = None


class ChatTemplate:
    """Renders conversations. Stateless after construction, so threads may share it."""

    def __init__(self, source: str, *, bos_token: str, eos_token: str, date: str = FIXED_DATE) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda _format: date
        environment.filters["tojson"] = _tojson
        self.source = source
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelFileError(f"the chat template cannot be read: {error}") from error

    def pieces(self, messages: Sequence[ChatMessage]) -> list[Piece]:
        """Render ``messages`` in the template's order, ending where the model's answer begins.

        Every message has its pieces, at least one. A last assistant message is a prefill: nothing follows its content.
        Raises InvalidRequest when the template refuses, drops, repeats or reorders messages.
        """
        is_prefill = messages[-1].role == "assistant"
        nonce = str(secrets.randbits(128))  # Digits, since a template may change the case of letters.
        marks = [f"[{nonce}:{index}]" for index in range(len(messages))]
        text = self._render([m.role for m in messages], marks, add_generation_prompt=not is_prefill)
        before, *found = re.split(rf"\[{nonce}:(\d+)\]", text)
        pieces = [Piece(before)]
        for index, after in zip(map(int, found[::2]), found[1::2], strict=True):
            blocks = messages[index].blocks or ("",)
            pieces += [Piece(content, index, block) for block, content in enumerate(blocks)]
            pieces.append(Piece(after))
        _check(pieces, messages, nonce)
        return pieces[:-1] if is_prefill else pieces

    def plain(self, messages: Sequence[ChatMessage]) -> str:
        """Render ``messages`` as the template was written to, contents in its sight. Raises InvalidRequest."""
        roles, texts = [m.role for m in messages], [m.text for m in messages]
        return self._render(roles, texts, add_generation_prompt=messages[-1].role != "assistant")

    def _render(self, roles: Sequence[str], contents: Sequence[str], *, add_generation_prompt: bool) -> str:
        messages = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=True)]
        try:
            return self._template.render(messages=messages, add_generation_prompt=add_generation_prompt, **self._tokens)
        except Exception as error:  # A template is foreign code: it may raise anything.
            raise InvalidRequest("messages", f"the model's chat template refuses them: {error}") from error


def _check(pieces: Sequence[Piece], messages: Sequence[ChatMessage], nonce: str) -> None:
    """Every message once, and answers in their order; a system prompt may stand elsewhere than first."""
    order = [piece.message for piece in pieces if piece.message is not None and not piece.block]
    answers = [index for index in order if messages[index].role == "assistant"]
    missing = set(range(len(messages))) - set(order)
    broken = missing or len(order) != len(messages) or answers != sorted(answers)
    if broken or any(nonce in piece.text for piece in pieces):
        path = f"messages.{min(missing)}" if missing else "messages"
        raise InvalidRequest(path, "the model's chat template drops, repeats or reorders messages")


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _tojson(value: Any, indent: int | None = None) -> str:
    """The filter as Hugging Face templates expect it: no HTML escapes, non-ASCII kept."""
    return json.dumps(value, ensure_ascii=False, indent=indent)
