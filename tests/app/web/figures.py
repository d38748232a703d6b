"""Figures of turns that never ran."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.cache_outcomes import Outcome
from app.conversations.figures import TurnFigures, outcome_of
from app.reports import TurnRow


def figures(**changes: Any) -> TurnFigures:
    """A completed first turn without anything reported; times are those of a backend that starts late."""
    values: dict[str, Any] = {
        "id": UUID(int=1),
        "status": "completed",
        "kind": "question",
        "input_tokens": None,
        "cache_creation_input_tokens": None,
        "cache_read_input_tokens": None,
        "output_tokens": None,
        "expected_read_tokens": None,
        "expected_is_minimum": False,
        "shortfall_tokens": None,
        "outcome": outcome_of(changes.get("status", "completed"), Outcome.HIT),
        "stop_reason": "end_turn",
        "error_type": None,
        "error_message": None,
        "queued_ms": 1,
        "admission_ms": None,
        "prefill_ms": None,
        "time_to_first_token_ms": None,
        "duration_ms": None,
        "created_at": datetime(2026, 1, 1, 12, tzinfo=UTC),
        "finished_at": None,
    }
    return TurnFigures(**{**values, **changes})


def counted(input_tokens: int, read: int, output: int | None = None, **changes: Any) -> TurnFigures:
    """A turn that reported its prompt."""
    usage = {
        "input_tokens": input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }
    return figures(**{**usage, **changes})


def row(number: int, turn: TurnFigures, **changes: Any) -> TurnRow:
    """A turn in its place; one behind the first goes on from the one before it."""
    values = {
        "number": number,
        "figures": turn,
        "kv_tokens_at_end": turn.reported.kv_tokens_at_end,
        "base_turn_number": number - 1 or None,
        "idle_before_s": None,
    }
    return TurnRow(**{**values, **changes})
