"""What pages get to see of conversations: frozen values, detached from the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.conversations.figures import TurnFigures

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    id: UUID
    reference: str
    title: str
    updated_at: datetime
    running: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """Which of several messages with one parent this is, `position` counted from 1, and its neighbours."""

    position: int
    count: int
    previous_id: UUID | None
    next_id: UUID | None


@dataclass(frozen=True, slots=True)
class MessageView:
    """`cursor` is the number of the last event whose text is in `text`; 0 if not live here.

    `turn` is the newest one of this answer, which `parts` turns have written; `branch` is None for an only child.
    """

    id: UUID
    role: Role
    text: str
    context_note: str | None
    turn: TurnFigures | None
    cursor: int
    parts: int
    branch: Branch | None


@dataclass(frozen=True, slots=True)
class ConversationView:
    """`messages` is the shown branch, from root to leaf."""

    id: UUID
    reference: str
    title: str
    system_prompt: str
    messages: tuple[MessageView, ...]
    live_turn_id: UUID | None
    updated_at: datetime

    @property
    def leaf_id(self) -> UUID | None:
        return self.messages[-1].id if self.messages else None
