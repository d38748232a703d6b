"""Column types and ids that behave the same on SQLite and PostgreSQL."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Dialect
from sqlalchemy.types import TypeDecorator
from uuid6 import uuid7


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: refuses naive values, stores UTC, gives aware UTC back (SQLite drops offsets)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime cannot be stored")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        instant: datetime = value
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def new_id() -> UUID:
    """A UUIDv7 of the plain standard class, which every driver can store."""
    return UUID(int=uuid7().int)
