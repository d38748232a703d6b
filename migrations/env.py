"""Runs the migrations on the connection that `app.database.migration` hands over."""

from alembic import context

import app.models as models
from app.database.types import UtcDateTime


def render_item(kind: str, item: object, _autogenerate_context: object) -> str | bool:
    """Revisions name plain types, so that they stay readable when ours change."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    return False


connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=models.User.metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    render_item=render_item,
)
with context.begin_transaction():
    context.run_migrations()
