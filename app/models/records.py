"""Tables of what happened: events for operators, the audit log, and stored settings."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.base import Base
from app.database.types import UtcDateTime, new_id


class ServingEvent(Base):
    """Something that charts mark: a server start, an app start, a changed setting."""

    __tablename__ = "events"

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
