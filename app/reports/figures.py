"""Rows of the operator's reports: numbers and references, never titles or text."""

from dataclasses import dataclass
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
