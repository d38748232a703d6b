"""Imported turns are told from our own; conversations know when their owner last saw them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("imported_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("conversations", sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True))
    # Whatever is there has been seen; marks begin with the next answer.
    op.execute("UPDATE conversations SET seen_at = updated_at")


def downgrade() -> None:
    op.drop_column("conversations", "seen_at")
    op.drop_column("turns", "imported_at")
