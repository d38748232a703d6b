"""Tables of what people write and read: conversations, their message trees, system prompts."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.database.base import Base
from app.database.types import UtcDateTime, new_id


class SystemPrompt(Base):
    """Immutable; an edit makes a new row. A row belongs to one conversation."""

    __tablename__ = "system_prompts"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    text: Mapped[str] = mapped_column(Text)


class Conversation(Base):
    """`next_seq` numbers the messages; `active_leaf_id` has no foreign key on purpose.

    Deleting blanks the row and keeps it, so that the numbers of its turns keep their place.
    `params` is canonical JSON in text, because a database may reorder the keys of its own type.
    """

    __tablename__ = "conversations"
    __table_args__ = (Index("ix_conversations_owner_id_updated_at", "owner_id", "updated_at"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    reference: Mapped[str] = mapped_column(String(8), unique=True)
    title: Mapped[str] = mapped_column(Text, default="")
    system_prompt_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("system_prompts.id", ondelete="SET NULL"), index=True
    )
    model: Mapped[str | None] = mapped_column(Text)
    params: Mapped[str] = mapped_column(Text, default="{}")
    active_leaf_id: Mapped[UUID | None]
    next_seq: Mapped[int] = mapped_column(default=1)
    salt: Mapped[bytes | None] = mapped_column(LargeBinary)
    pinned_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    archived_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    deleted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    seen_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class Message(Base):
    """A node of the tree. Order comes from `seq` alone; `created_at` is for showing."""

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("conversation_id", "seq"),
        UniqueConstraint("conversation_id", "id"),
        # A composite key keeps a parent inside its conversation.
        ForeignKeyConstraint(
            ["conversation_id", "parent_id"],
            ["messages.conversation_id", "messages.id"],
            name="fk_messages_parent",
        ),
        CheckConstraint("role IN ('user', 'assistant')", name="role"),
        Index("ix_messages_conversation_id_parent_id", "conversation_id", "parent_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id"))
    parent_id: Mapped[UUID | None]
    seq: Mapped[int]
    role: Mapped[str] = mapped_column(String(16))
    text: Mapped[str] = mapped_column(Text)
    context_note: Mapped[str | None] = mapped_column(Text)
    sent_sha256: Mapped[str | None] = mapped_column(String(64))
    selected_child_id: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
