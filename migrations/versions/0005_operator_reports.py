"""Indexes of the operator's reports: turns that missed something, turns with an error, turns by where they went."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_COUNTED = "purpose = 'chat' AND imported_at IS NULL"
_MISSED = (
    "outcome IN ('block_rounding', 'caching_off', 'evicted', 'expired', 'history_trimmed', 'model_switched',"
    " 'other_replica', 'prefix_changed', 'restarted', 'retokenized', 'still_computing', 'system_prompt_edited',"
    " 'template_rewrote', 'unknown', 'volatile_system_prompt')"
)
_INDEXES = (
    (
        "ix_turns_missed",
        (
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
        ),
        f"{_MISSED} AND {_COUNTED}",
    ),
    (
        "ix_turns_errors",
        ("created_at", "error_type", "purpose", "imported_at"),
        f"error_type IS NOT NULL AND {_COUNTED}",
    ),
    ("ix_turns_places", ("backend", "model", "created_at"), _COUNTED),
)


def upgrade() -> None:
    for name, columns, condition in _INDEXES:
        where = sa.text(condition)
        op.create_index(name, "turns", list(columns), sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    for name, _, _ in reversed(_INDEXES):
        op.drop_index(name, "turns")
