"""Rows of the operator's reports: numbers and references, never titles or text."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.conversations.figures import TurnFigures


@dataclass(frozen=True, slots=True)
class TurnRow:
    """`number` and `base_turn_number` count from 1 inside the conversation; times in seconds."""

    number: int
    figures: TurnFigures
    kv_tokens_at_end: int | None
    base_turn_number: int | None
    idle_before_s: float | None


@dataclass(frozen=True, slots=True)
class ConversationReport:
    """`model` is that of the newest turn that reached a backend."""

    id: UUID
    reference: str
    owner_name: str
    model: str | None
    turns: tuple[TurnRow, ...]


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """Sums cover the `reported_turns`: those of which prompt and cached tokens are known."""

    id: UUID
    reference: str
    owner_name: str
    turns: int
    reported_turns: int
    prompt_tokens: int
    cached_tokens: int
    updated_at: datetime
