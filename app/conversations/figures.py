"""The numbers of one turn as views show them. "Not reported" is None and never 0."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.accounting import Reported
from app.cache_outcomes import Outcome
from app.models import LIVE_STATES, Turn

TurnStatus = Literal["queued", "running", "completed", "stopped", "interrupted", "failed"]
TurnKind = Literal["question", "edit", "regenerate", "continue", "retry"]


def outcome_of(status: str, stored: str | None) -> Outcome:
    """As stored; an imported file may have a word that is none of ours, or none at all."""
    if status in LIVE_STATES:
        return Outcome.PENDING
    return Outcome(stored) if stored in set(Outcome) else Outcome.UNKNOWN


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """Usage in tokens under its wire names, times in milliseconds.

    `fault`: its shortfall counts as lost. `law_mismatch`: the server promised something else than the cache law.
    `diverged_where` is `system` or `messages.2`, `diverged_offset` in characters, `diverged_token` a position.
    `history_start_message_id` is the first message that was sent, None for the root. `prefill_chars` is how much of its
    answer stood there before a turn that continues it. `model` is known once the request was about to be written.
    """

    id: UUID
    status: TurnStatus
    kind: TurnKind
    input_tokens: int | None
    cache_creation_input_tokens: int | None
    cache_read_input_tokens: int | None
    output_tokens: int | None
    expected_read_tokens: int | None
    expected_is_minimum: bool
    shortfall_tokens: int | None
    outcome: Outcome
    stop_reason: str | None
    error_type: str | None
    error_message: str | None
    queued_ms: int | None
    admission_ms: int | None
    prefill_ms: int | None
    time_to_first_token_ms: int | None
    duration_ms: int | None
    created_at: datetime
    finished_at: datetime | None
    fault: bool | None = None
    law_mismatch: bool | None = None
    backend: str | None = None
    serving_id: str | None = None
    backend_message_id: str | None = None
    diverged_where: str | None = None
    diverged_offset: int | None = None
    diverged_kind: str | None = None
    diverged_token: int | None = None
    history_start_message_id: UUID | None = None
    prefill_chars: int | None = None
    model: str | None = None

    @classmethod
    def of(cls, turn: Turn) -> "TurnFigures":
        names = [name for name in cls.__slots__ if name not in ("expected_is_minimum", "outcome")]
        values = {name: getattr(turn, name) for name in names}
        outcome = outcome_of(turn.status, turn.outcome)
        return cls(expected_is_minimum=bool(turn.expected_is_minimum), outcome=outcome, **values)

    @property
    def reported(self) -> Reported:
        return Reported(
            self.input_tokens,
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
            self.output_tokens,
        )

    @property
    def live(self) -> bool:
        return self.status in ("queued", "running")

    @property
    def prompt_tokens(self) -> int | None:
        return self.reported.prompt_tokens

    @property
    def computed_tokens(self) -> int | None:
        return self.reported.computed_tokens

    @property
    def cached_tokens(self) -> int | None:
        return self.reported.cached_tokens

    @property
    def tokens_per_second(self) -> float | None:
        """(output - 1) over the time from the first token to the end; None below two tokens."""
        output, first, total = self.output_tokens, self.time_to_first_token_ms, self.duration_ms
        if output is None or output < 2 or first is None or total is None or total <= first:
            return None
        return (output - 1) * 1000 / (total - first)
