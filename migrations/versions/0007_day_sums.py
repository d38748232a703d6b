"""What the turns of ended days add up to, so that reports over long times need not read the turns."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_COUNTS = (
    "turns",
    "completed",
    "stopped",
    "interrupted",
    "failed",
    "reported",
    "output_known",
    "on_purpose_known",
    "lost_known",
    "rounding_known",
    "losing",
    "expected_known",
    "could_miss",
    "hits",
    "law_mismatches",
)
_TOKENS = ("prompt", "cached", "output", "on_purpose", "lost", "rounding", "expected", "achieved")
_TIMES = ("total_times", "queued_times", "admission_times", "prefill_times")


def upgrade() -> None:
    op.create_table(
        "summed_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_summed_days"),
    )
    op.create_table(
        "turn_sums",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in _COUNTS),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _TOKENS),
        *(sa.Column(name, sa.Text(), nullable=False) for name in _TIMES),
        sa.ForeignKeyConstraint(
            ["day"], ["summed_days.day"], name=op.f("fk_turn_sums_day_summed_days"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("day", "start", "backend", "model", name=op.f("pk_turn_sums")),
    )


def downgrade() -> None:
    op.drop_table("turn_sums")
    op.drop_table("summed_days")
