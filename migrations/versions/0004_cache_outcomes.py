"""Why each turn read what it read: what the server said of it, and its outcome, also of turns that have ended."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_UNNAMED = sa.text("outcome IS NULL AND imported_at IS NULL")
_SERVER_START = sa.text("kind = 'server_start'")
# Until now the column held what was known before the request. Whatever else there was is not known any more.
_NAME_OUTCOMES = """
    UPDATE turns SET known_cause = outcome, outcome = CASE
        WHEN queued_ms IS NULL AND model IS NULL THEN 'not_sent'
        WHEN input_tokens IS NULL OR cache_creation_input_tokens IS NULL OR cache_read_input_tokens IS NULL
            THEN 'not_reported'
        WHEN base_turn_id IS NULL THEN 'first_turn'
        WHEN shortfall_tokens = 0 THEN 'hit'
        WHEN outcome IS NOT NULL THEN outcome
        ELSE 'unknown'
    END, fault = FALSE
    WHERE status NOT IN ('queued', 'running')
"""
_NOT_YET = "UPDATE turns SET known_cause = outcome, outcome = NULL WHERE status IN ('queued', 'running')"
_COLUMNS = (
    ("known_cause", sa.String(length=32)),
    ("server_outcome", sa.String(length=32)),
    ("server_expected_tokens", sa.Integer()),
    ("diverged_token", sa.Integer()),
    ("law_mismatch", sa.Boolean()),
)


def upgrade() -> None:
    for name, kind in _COLUMNS:
        op.add_column("turns", sa.Column(name, kind, nullable=True))
    op.create_index(
        "uq_events_server_start",
        "events",
        ["backend", "serving_id"],
        unique=True,
        sqlite_where=_SERVER_START,
        postgresql_where=_SERVER_START,
    )
    op.execute(_NAME_OUTCOMES)
    op.execute(_NOT_YET)
    op.create_index("ix_turns_unnamed", "turns", ["id"], sqlite_where=_UNNAMED, postgresql_where=_UNNAMED)


def downgrade() -> None:
    op.drop_index("ix_turns_unnamed", "turns")
    op.execute("UPDATE turns SET outcome = known_cause, fault = NULL")
    op.drop_index("uq_events_server_start", "events")
    for name, _ in reversed(_COLUMNS):
        op.drop_column("turns", name)
