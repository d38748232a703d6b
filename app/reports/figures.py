"""Rows of the operator's reports: numbers and references, never titles or text."""

from dataclasses import dataclass
from uuid import UUID

from app.conversations.figures import TurnFigures


@dataclass(frozen=True, slots=True)
class TurnRow:
    """`number` and `base_turn_number` count from 1 inside the conversation; times in seconds.

    `cut`: its history began later than that of the turn it goes on from. `serving_changed`: another process of a model
    server than the one of the turn in front has answered.
    """

    number: int
    figures: TurnFigures
    kv_tokens_at_end: int | None
    base_turn_number: int | None
    idle_before_s: float | None
    cut: bool = False
    serving_changed: bool = False


@dataclass(frozen=True, slots=True)
class BranchRow:
    """One way from the first message down to this leaf, and the turns that wrote its answers.

    `active`: the one that its owner sees in the chat.
    """

    leaf_id: UUID
    active: bool
    turn_ids: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class ConversationReport:
    """`model` and `backend` are those of the newest turn that reached a backend. Turns are those of all branches.

    `deleted`: its texts are gone, and only these numbers are left.
    """

    id: UUID
    reference: str
    owner_name: str
    model: str | None
    turns: tuple[TurnRow, ...]
    backend: str | None
    branches: tuple[BranchRow, ...]
    deleted: bool


@dataclass(frozen=True, slots=True)
class TurnReport:
    """One turn with its neighbours in the conversation; without a conversation it stands alone.

    `base` is the turn whose KV it could read. `server_outcome` is the model server's own word, and
    `server_expected_tokens` what it had expected to read. `texts_deleted`: with them went what its server knew it by.
    """

    row: TurnRow
    conversation_id: UUID | None
    reference: str | None
    owner_name: str | None
    base: TurnRow | None
    previous_id: UUID | None
    next_id: UUID | None
    server_outcome: str | None
    server_expected_tokens: int | None
    texts_deleted: bool
