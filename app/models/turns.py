"""Tables of turns (one request to the model and its reply), submissions, and worker processes."""

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ColumnElement, ForeignKey, Index, String, Text, literal_column, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.base import Base
from app.database.types import UtcDateTime, new_id

LIVE_STATES: Final = ("queued", "running")
_UNNAMED = text("outcome IS NULL AND imported_at IS NULL")
_LIVE = text("status IN ('queued', 'running')")
# The conditions of indexes for reports; app.reports.measures says them again to use the indexes.
_COUNTED = "purpose = 'chat' AND imported_at IS NULL"
_MISSED = (
    "outcome IN ('block_rounding', 'caching_off', 'evicted', 'expired', 'history_trimmed', 'model_switched',"
    " 'other_replica', 'prefix_changed', 'restarted', 'retokenized', 'still_computing', 'system_prompt_edited',"
    " 'template_rewrote', 'unknown', 'volatile_system_prompt')"
)


def _reported(name: str, *columns: str, where: str) -> Index:
    condition = text(where)
    return Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


class Turn(Base):
    """Token counts that were not reported are NULL, never 0. Times ending in `_ms` are milliseconds."""

    __tablename__ = "turns"
    __table_args__ = (
        CheckConstraint("purpose IN ('chat', 'probe')", name="purpose"),
        CheckConstraint("kind IN ('question', 'edit', 'regenerate', 'continue', 'retry')", name="kind"),
        CheckConstraint(
            "status IN ('queued', 'running', 'completed', 'stopped', 'interrupted', 'failed')", name="status"
        ),
        # What every process looks for every few seconds: turns that ended without anybody who named their outcome.
        Index("ix_turns_unnamed", "id", sqlite_where=_UNNAMED, postgresql_where=_UNNAMED),
        Index(
            "uq_turns_live_conversation_id",
            "conversation_id",
            unique=True,
            sqlite_where=_LIVE,
            postgresql_where=_LIVE,
        ),
        # SQLite reads no row only where the index has the columns of its own condition too.
        _reported(
            "ix_turns_missed",
            "created_at",
            "outcome",
            "backend",
            "model",
            "conversation_id",
            "fault",
            "shortfall_tokens",
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "purpose",
            "imported_at",
            "id",
            where=f"{_MISSED} AND {_COUNTED}",
        ),
        _reported(
            "ix_turns_errors",
            "created_at",
            "error_type",
            "purpose",
            "imported_at",
            where=f"error_type IS NOT NULL AND {_COUNTED}",
        ),
        _reported("ix_turns_places", "backend", "model", "created_at", where=_COUNTED),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id"), index=True)
    purpose: Mapped[str] = mapped_column(String(16))
    kind: Mapped[str] = mapped_column(String(16))
    user_message_id: Mapped[UUID | None] = mapped_column(ForeignKey("messages.id", ondelete="SET NULL"), index=True)
    assistant_message_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("messages.id", ondelete="SET NULL"), index=True
    )
    base_turn_id: Mapped[UUID | None] = mapped_column(ForeignKey("turns.id", ondelete="SET NULL"), index=True)
    prefill_chars: Mapped[int | None]
    system_prompt_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("system_prompts.id", ondelete="SET NULL"), index=True
    )
    history_start_message_id: Mapped[UUID | None]
    model: Mapped[str | None] = mapped_column(Text)
    params: Mapped[str] = mapped_column(Text, default="{}")
    prompt_format: Mapped[int]
    request_sha256: Mapped[str | None] = mapped_column(String(64))
    backend: Mapped[str | None] = mapped_column(Text)
    serving_id: Mapped[str | None] = mapped_column(Text)
    backend_message_id: Mapped[str | None] = mapped_column(Text)
    status: Mapped[str] = mapped_column(String(16))
    stop_requested_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # No foreign key: the row of a dead worker goes, its turns stay.
    worker_id: Mapped[UUID | None] = mapped_column(index=True)
    input_tokens: Mapped[int | None]
    cache_creation_input_tokens: Mapped[int | None]
    cache_read_input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    expected_read_tokens: Mapped[int | None]
    expected_is_minimum: Mapped[bool | None]
    shortfall_tokens: Mapped[int | None]
    # Known before the request: why it will read less than the base turn has left.
    known_cause: Mapped[str | None] = mapped_column(String(32))
    # What the server itself said: its word, what it had expected, and the first token that was another one.
    server_outcome: Mapped[str | None] = mapped_column(String(32))
    server_expected_tokens: Mapped[int | None]
    diverged_token: Mapped[int | None]
    # Named when the turn ends; NULL until then.
    outcome: Mapped[str | None] = mapped_column(String(32))
    fault: Mapped[bool | None]
    law_mismatch: Mapped[bool | None]
    diverged_where: Mapped[str | None] = mapped_column(String(64))
    diverged_offset: Mapped[int | None]
    diverged_kind: Mapped[str | None] = mapped_column(String(16))
    stop_reason: Mapped[str | None] = mapped_column(Text)
    stop_sequence: Mapped[str | None] = mapped_column(Text)
    error_type: Mapped[str | None] = mapped_column(String(64))
    error_message: Mapped[str | None] = mapped_column(Text)
    queued_ms: Mapped[int | None]
    admission_ms: Mapped[int | None]
    prefill_ms: Mapped[int | None]
    time_to_first_token_ms: Mapped[int | None]
    duration_ms: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # Its numbers come from a file: they are shown with the conversation and counted nowhere else.
    imported_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


# Spelled out, because a database uses a partial index only where it sees the index's own condition.
TURN_IS_LIVE: Final[ColumnElement[bool]] = Turn.status.in_([literal_column(f"'{state}'") for state in LIVE_STATES])


class Submission(Base):
    """One send form that was accepted: its key, the hash of what it said, and the turn it made."""

    __tablename__ = "submissions"

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    submission_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(String(64))
    turn_id: Mapped[UUID] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"), index=True)


class Worker(Base):
    """A process of the app that runs turns; it is dead when its heartbeat is old."""

    __tablename__ = "workers"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    host: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcDateTime)


class RemovedTurns(Base):
    """What was counted of turns whose rows have gone. A part of the key that is not known is empty."""

    __tablename__ = "removed_turns"

    backend: Mapped[str] = mapped_column(Text, primary_key=True)
    model: Mapped[str] = mapped_column(Text, primary_key=True)
    status: Mapped[str] = mapped_column(String(16), primary_key=True)
    outcome: Mapped[str] = mapped_column(String(32), primary_key=True)
    measure: Mapped[str] = mapped_column(String(48), primary_key=True)
    amount: Mapped[int] = mapped_column(BigInteger)
