"""Builds the body of a request from stored values alone; pure.

The same path gives the same bytes on every turn, in every process and on every database.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from uuid import UUID

from app.context_note import escape_notes
from app.text import is_blank
from inference_client import encode_body

PROMPT_FORMAT: Final = 1

Body: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class PathMessage:
    """A stored message of the path from the root to the newest question."""

    role: Literal["user", "assistant"]
    text: str
    context_note: str | None = None


def build(
    *,
    model: str,
    max_tokens: int,
    system_prompt: str,
    path: Sequence[PathMessage],
    user_scope: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    stop_sequences: Sequence[str] | None = None,
) -> Body:
    """The body in its fixed key order. An empty system prompt, and what was not chosen, has no key at all.

    `user_scope` separates the caches of users at the backend; None sends none.
    """
    body: Body = {"model": model, "max_tokens": max_tokens}
    if temperature is not None:
        body["temperature"] = temperature
    if top_p is not None:
        body["top_p"] = top_p
    if stop_sequences:
        body["stop_sequences"] = list(stop_sequences)
    if system_prompt:
        body["system"] = system_prompt
    body["messages"] = _messages(path)
    if user_scope is not None:
        body["metadata"] = {"user_id": user_scope}
    body["stream"] = True
    return body


def content_of(message: PathMessage) -> str:
    """One message as it is sent: a question with its frozen note behind it, an answer as stored."""
    if message.role == "assistant":
        return message.text
    text = escape_notes(message.text)
    return f"{text}\n\n{message.context_note}" if message.context_note else text


def user_scope(secret: bytes, owner_id: UUID) -> str:
    """A stable, opaque name for an owner: it does not tell who that is."""
    return hmac.new(secret, b"cache scope:" + owner_id.bytes, hashlib.sha256).hexdigest()


def request_sha256(salt: bytes, body: Body) -> str:
    """Of the bytes that are sent, salted per conversation; options for the cache that go beside them do not count."""
    return hashlib.sha256(salt + encode_body(body)).hexdigest()


def message_sha256(salt: bytes, message: PathMessage) -> str:
    content = content_of(message).encode()
    return hashlib.sha256(salt + message.role.encode() + b"\0" + content).hexdigest()


def _messages(path: Sequence[PathMessage]) -> list[dict[str, str]]:
    """Blank answers are left out; questions that then follow each other are sent as one.

    So is an answer whose question is missing, in a tree that was damaged: every request begins with a question.
    """
    messages: list[dict[str, str]] = []
    for message in path:
        if message.role == "assistant" and (is_blank(message.text) or not messages):
            continue
        content = content_of(message)
        if messages and messages[-1]["role"] == message.role:
            messages[-1]["content"] += f"\n\n{content}"
        else:
            messages.append({"role": message.role, "content": content})
    return messages
