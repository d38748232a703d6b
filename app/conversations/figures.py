"""The numbers of one turn as views show them. "Not reported" is None and never 0."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.accounting import Reported
from app.models import Turn

TurnStatus = Literal["queued", "running", "completed", "stopped", "interrupted", "failed"]
TurnKind = Literal["question", "edit", "regenerate", "continue", "retry"]


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """Usage in tokens under its wire names, times in milliseconds.

    `outcome` names a known reason for a shortfall: `model_switched` or `system_prompt_edited` since the base turn,
    `history_trimmed` by this turn, or None. `history_start_message_id` is the first message that was sent, None for
    the root. `prefill_chars` is how much of its answer stood there before a turn that continues it. `model` is known
    once the request was about to be written.
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
    outcome: str | None = None
    history_start_message_id: UUID | None = None
    prefill_chars: int | None = None
    model: str | None = None

    @classmethod
    def of(cls, turn: Turn) -> "TurnFigures":
        names = [name for name in cls.__slots__ if name != "expected_is_minimum"]
        values = {name: getattr(turn, name) for name in names}
        return cls(expected_is_minimum=bool(turn.expected_is_minimum), **values)

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
