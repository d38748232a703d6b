"""A send request after all checks that need no database."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from app.conversations import TurnKind
from app.conversations.choices import NOTHING_CHOSEN, Choice
from app.database.types import new_id
from app.errors import InvalidInput
from app.text import clean_user_text, is_blank
from app.turns.requests import SendRequest

LONGEST_KEY = 64
_WITH_TEXT = ("question", "edit")


@dataclass(frozen=True, slots=True)
class Question:
    """`turn_id` is the turn that it will make; both texts are cleaned, once and for good."""

    turn_id: UUID
    submission_key: str
    body_sha256: str
    kind: TurnKind
    text: str
    conversation_id: UUID | None
    message_id: UUID | None
    system_prompt: str
    time_zone: str | None
    temporary: bool
    choice: Choice
    offered: Collection[str]


def check_request(request: SendRequest, max_characters: int) -> Question:
    """InvalidInput for a blank or too long text or key, and for a too long system prompt."""
    text = clean_user_text(request.text) if request.kind in _WITH_TEXT else ""
    system_prompt = clean_user_text(request.system_prompt or "")
    if request.kind in _WITH_TEXT and is_blank(text):
        raise InvalidInput("text", "A message cannot be empty.")
    for field, value in (("text", text), ("system_prompt", system_prompt)):
        if len(value) > max_characters:
            raise InvalidInput(field, f"{len(value):,} characters; at most {max_characters:,} are possible.")
    key = request.submission_key
    if is_blank(key) or len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise InvalidInput("submission_key", "The form has no usable key; load the page again.")
    return Question(
        turn_id=new_id(),
        submission_key=key,
        body_sha256=_digest(request, system_prompt, text),
        kind=request.kind,
        text=text,
        conversation_id=request.conversation_id,
        message_id=request.message_id,
        system_prompt=system_prompt,
        time_zone=request.time_zone,
        temporary=request.temporary,
        choice=request.choice,
        offered=request.offered,
    )


def _digest(request: SendRequest, system_prompt: str, text: str) -> str:
    said: list[object] = [str(request.conversation_id), system_prompt, text]
    # What a question stands below is no part of what was said: the same form may be sent from a page that has grown.
    if request.kind != "question":
        said += [request.kind, str(request.message_id)]
    if request.conversation_id is None and request.choice != NOTHING_CHOSEN:
        said.append({"model": request.choice.model, **request.choice.params.chosen()})
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
