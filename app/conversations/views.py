"""What pages get to see of conversations: frozen values, detached from the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.conversations.figures import TurnFigures

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """`unread`: an answer has ended since the owner last opened it."""

    id: UUID
    reference: str
    title: str
    updated_at: datetime
    running: bool
    unread: bool = False
    pinned: bool = False
    archived: bool = False


@dataclass(frozen=True, slots=True)
class MessageView:
    """`cursor` is the number of the last event whose text is in `text`; 0 if not live here."""

    id: UUID
    role: Role
    text: str
    context_note: str | None
    turn: TurnFigures | None
    cursor: int


@dataclass(frozen=True, slots=True)
class ConversationView:
    """`messages` is the active branch, from root to leaf."""

    id: UUID
    reference: str
    title: str
    system_prompt: str
    messages: tuple[MessageView, ...]
    live_turn_id: UUID | None
    updated_at: datetime
