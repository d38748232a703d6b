"""What was counted of turns whose figures have gone, so that counters never fall."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "removed_turns",
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("measure", sa.String(length=48), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("backend", "model", "status", "outcome", "measure", name=op.f("pk_removed_turns")),
    )


def downgrade() -> None:
    op.drop_table("removed_turns")
