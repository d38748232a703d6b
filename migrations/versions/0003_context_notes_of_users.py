"""People can switch their context notes off; whoever is there goes on with them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A batch would copy the table for such a default, which SQLite adds in place.
    op.add_column("users", sa.Column("context_notes", sa.Boolean(), server_default=sa.true(), nullable=False))


def downgrade() -> None:
    op.drop_column("users", "context_notes")
