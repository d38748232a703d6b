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
    """`messages` is the shown branch, from root to leaf; `model` None means the first that the backend lists."""

    id: UUID
    reference: str
    title: str
    system_prompt: str
    messages: tuple[MessageView, ...]
    live_turn_id: UUID | None
    updated_at: datetime
    model: str | None

    @property
    def leaf_id(self) -> UUID | None:
        return self.messages[-1].id if self.messages else None

    @property
    def backend(self) -> str | None:
        """The one that served the newest turn of the branch."""
        turns = (message.turn for message in reversed(self.messages) if message.turn)
        return next((turn.backend for turn in turns if turn.backend is not None), None)

    @property
    def history_start_id(self) -> UUID | None:
        """The message that the newest turn began with; None where it sent all of the branch."""
        turns = [message.turn for message in self.messages if message.turn]
        start_id = turns[-1].history_start_message_id if turns else None
        return start_id if any(message.id == start_id for message in self.messages[1:]) else None

    @property
    def last_counted_turn(self) -> TurnFigures | None:
        """The newest turn of the branch whose prompt was reported."""
        turns = (message.turn for message in reversed(self.messages) if message.turn)
        return next((turn for turn in turns if turn.prompt_tokens is not None), None)
