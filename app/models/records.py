"""Tables of what happened: events for operators, the audit log, and stored settings."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.base import Base
from app.database.types import UtcDateTime, new_id

_SERVER_START = text("kind = 'server_start'")


class ServingEvent(Base):
    """Something that charts mark: a server start, an app start, a changed setting."""

    __tablename__ = "events"
    __table_args__ = (
        # A start of a server is seen by every process, and stored once.
        Index(
            "uq_events_server_start",
            "backend",
            "serving_id",
            unique=True,
            sqlite_where=_SERVER_START,
            postgresql_where=_SERVER_START,
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    kind: Mapped[str] = mapped_column(String(32))
    backend: Mapped[str | None] = mapped_column(Text)
    serving_id: Mapped[str | None] = mapped_column(Text)
    detail: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class AuditEntry(Base):
    """Append only. `subject` is an id or a reference, never a title, a text or a typed name."""

    __tablename__ = "audit_log"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    actor_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    action: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str | None] = mapped_column(String(64))
    remote: Mapped[str | None] = mapped_column(String(64))


class StoredSetting(Base):
    """A setting that lives in the database, so that every process has the same one."""

    __tablename__ = "settings"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[str] = mapped_column(Text)
