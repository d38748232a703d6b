"""Tables of accounts: users, their sessions, and invites."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, String, Text, true
from sqlalchemy.orm import Mapped, mapped_column

from app.database.base import Base
from app.database.types import UtcDateTime, new_id


class User(Base):
    """`name_key` is the case-folded name; it makes names unique whatever their case.

    `context_notes`: whether messages that are accepted from now on get one.
    """

    __tablename__ = "users"
    __table_args__ = (CheckConstraint("role IN ('user', 'operator')", name="role"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    name_key: Mapped[str] = mapped_column(String(256), unique=True)
    password_hash: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(String(16))
    locale: Mapped[str | None] = mapped_column(String(16))
    time_zone: Mapped[str | None] = mapped_column(String(64))
    default_system_prompt: Mapped[str | None] = mapped_column(Text)
    context_notes: Mapped[bool] = mapped_column(default=True, server_default=true())
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class UserSession(Base):
    """`token_hash` is the SHA-256 of the cookie's token, in hex; the token itself is not stored."""

    __tablename__ = "sessions"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class Invite(Base):
    __tablename__ = "invites"
    __table_args__ = (CheckConstraint("role IN ('user', 'operator')", name="role"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(16))
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    used_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
