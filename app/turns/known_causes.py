"""What is known before a request of why it will read less than its base turn left: it is stored with the new turn."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app import prompt
from app.cache_outcomes import Outcome
from app.conversations.tree import Node
from app.divergence import find_divergence
from app.models import Message, SystemPrompt, Turn
from app.text import is_blank

SYSTEM: Final = "system"
VOLATILE_EDITS: Final = 3
VOLATILE_TURNS: Final = 10
"""A system prompt that has changed in so many of so many turns changes by itself."""


async def compare_system_prompts(session: AsyncSession, turn: Turn, base: Turn, system_prompt: str) -> None:
    """By the texts: an edit that was taken back makes a new row and the same prompt."""
    earlier = await session.get(SystemPrompt, base.system_prompt_id) if base.system_prompt_id else None
    divergence = find_divergence(earlier.text if earlier else "", system_prompt)
    if divergence is None:
        return
    turn.diverged_where = SYSTEM
    turn.diverged_offset, turn.diverged_kind = divergence.offset, divergence.kind
    volatile = await _changes_by_itself(session, base.conversation_id)
    turn.known_cause = Outcome.VOLATILE_SYSTEM_PROMPT if volatile else Outcome.SYSTEM_PROMPT_EDITED


async def _changes_by_itself(session: AsyncSession, conversation_id: UUID | None) -> bool:
    """Whether one more change of the system prompt is one too many."""
    newest = (
        select(Turn.diverged_where)
        .where(Turn.conversation_id == conversation_id, Turn.purpose == "chat")
        .order_by(Turn.id.desc())
        .limit(VOLATILE_TURNS - 1)
    )
    return list(await session.scalars(newest)).count(SYSTEM) >= VOLATILE_EDITS - 1


def mark_cut(turn: Turn) -> None:
    """The history begins later than that of the base turn."""
    if turn.known_cause != Outcome.SYSTEM_PROMPT_EDITED:
        turn.known_cause = Outcome.HISTORY_TRIMMED
    turn.diverged_where = turn.diverged_where or "messages.0"


async def hash_path(session: AsyncSession, turn: Turn, path: Sequence[Node], salt: bytes) -> None:
    """A message gets the hash of what is sent when it is sent whole for the first time; the answer grows yet.

    One that has another hash now is not what the model has seen.
    """
    for index, node in enumerate(node for node in path[:-1] if not is_blank(node.text)):
        digest = prompt.message_sha256(salt, prompt.PathMessage(node.role, node.text, node.context_note))
        if node.sent_sha256 is None:
            await session.execute(update(Message).where(Message.id == node.id).values(sent_sha256=digest))
        elif node.sent_sha256 != digest and turn.diverged_where is None:
            turn.known_cause, turn.diverged_where = Outcome.PREFIX_CHANGED, f"messages.{index}"
