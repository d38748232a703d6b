"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("backend", sa.Text(), nullable=True),
        sa.Column("serving_id", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
    )
    op.create_index("ix_events_at", "events", ["at"], unique=False)

    op.create_table(
        "settings",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_settings"),
    )
    op.create_table(
        "system_prompts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_system_prompts"),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("name_key", sa.String(length=256), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("locale", sa.String(length=16), nullable=True),
        sa.Column("time_zone", sa.String(length=64), nullable=True),
        sa.Column("default_system_prompt", sa.Text(), nullable=True),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('user', 'operator')", name=op.f("ck_users_role")),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name", name="uq_users_name"),
        sa.UniqueConstraint("name_key", name="uq_users_name_key"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=True),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=True),
        sa.Column("remote", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["actor_id"], ["users.id"], name="fk_audit_log_actor_id_users", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_audit_log"),
    )
    op.create_index("ix_audit_log_actor_id", "audit_log", ["actor_id"], unique=False)
    op.create_index("ix_audit_log_at", "audit_log", ["at"], unique=False)

    op.create_table(
        "conversations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("reference", sa.String(length=8), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("system_prompt_id", sa.Uuid(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("params", sa.Text(), nullable=False),
        sa.Column("active_leaf_id", sa.Uuid(), nullable=True),
        sa.Column("next_seq", sa.Integer(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=True),
        sa.Column("pinned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_conversations_owner_id_users"),
        sa.ForeignKeyConstraint(
            ["system_prompt_id"],
            ["system_prompts.id"],
            name="fk_conversations_system_prompt_id_system_prompts",
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_conversations"),
        sa.UniqueConstraint("reference", name="uq_conversations_reference"),
    )
    op.create_index("ix_conversations_owner_id_updated_at", "conversations", ["owner_id", "updated_at"], unique=False)
    op.create_index("ix_conversations_system_prompt_id", "conversations", ["system_prompt_id"], unique=False)

    op.create_table(
        "invites",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_by", sa.Uuid(), nullable=True),
        sa.CheckConstraint("role IN ('user', 'operator')", name=op.f("ck_invites_role")),
        sa.ForeignKeyConstraint(["used_by"], ["users.id"], name="fk_invites_used_by_users", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_invites"),
        sa.UniqueConstraint("token_hash", name="uq_invites_token_hash"),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sessions_user_id_users", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
        sa.UniqueConstraint("token_hash", name="uq_sessions_token_hash"),
    )
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"], unique=False)
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"], unique=False)

    op.create_table(
        "messages",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("context_note", sa.Text(), nullable=True),
        sa.Column("sent_sha256", sa.String(length=64), nullable=True),
        sa.Column("selected_child_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('user', 'assistant')", name=op.f("ck_messages_role")),
        sa.ForeignKeyConstraint(
            ["conversation_id", "parent_id"],
            ["messages.conversation_id", "messages.id"],
            name="fk_messages_parent",
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name="fk_messages_conversation_id_conversations"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        sa.UniqueConstraint("conversation_id", "id", name="uq_messages_conversation_id_id"),
        sa.UniqueConstraint("conversation_id", "seq", name="uq_messages_conversation_id_seq"),
    )
    op.create_index("ix_messages_conversation_id_parent_id", "messages", ["conversation_id", "parent_id"], unique=False)

    op.create_table(
        "turns",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("user_message_id", sa.Uuid(), nullable=True),
        sa.Column("assistant_message_id", sa.Uuid(), nullable=True),
        sa.Column("base_turn_id", sa.Uuid(), nullable=True),
        sa.Column("prefill_chars", sa.Integer(), nullable=True),
        sa.Column("system_prompt_id", sa.Uuid(), nullable=True),
        sa.Column("history_start_message_id", sa.Uuid(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("params", sa.Text(), nullable=False),
        sa.Column("prompt_format", sa.Integer(), nullable=False),
        sa.Column("request_sha256", sa.String(length=64), nullable=True),
        sa.Column("backend", sa.Text(), nullable=True),
        sa.Column("serving_id", sa.Text(), nullable=True),
        sa.Column("backend_message_id", sa.Text(), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("stop_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker_id", sa.Uuid(), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("cache_creation_input_tokens", sa.Integer(), nullable=True),
        sa.Column("cache_read_input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("expected_read_tokens", sa.Integer(), nullable=True),
        sa.Column("expected_is_minimum", sa.Boolean(), nullable=True),
        sa.Column("shortfall_tokens", sa.Integer(), nullable=True),
        sa.Column("outcome", sa.String(length=32), nullable=True),
        sa.Column("fault", sa.Boolean(), nullable=True),
        sa.Column("diverged_where", sa.String(length=64), nullable=True),
        sa.Column("diverged_offset", sa.Integer(), nullable=True),
        sa.Column("diverged_kind", sa.String(length=16), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=True),
        sa.Column("stop_sequence", sa.Text(), nullable=True),
        sa.Column("error_type", sa.String(length=64), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("queued_ms", sa.Integer(), nullable=True),
        sa.Column("admission_ms", sa.Integer(), nullable=True),
        sa.Column("prefill_ms", sa.Integer(), nullable=True),
        sa.Column("time_to_first_token_ms", sa.Integer(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "kind IN ('question', 'edit', 'regenerate', 'continue', 'retry')", name=op.f("ck_turns_kind")
        ),
        sa.CheckConstraint("purpose IN ('chat', 'probe')", name=op.f("ck_turns_purpose")),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'completed', 'stopped', 'interrupted', 'failed')",
            name=op.f("ck_turns_status"),
        ),
        sa.ForeignKeyConstraint(
            ["assistant_message_id"],
            ["messages.id"],
            name="fk_turns_assistant_message_id_messages",
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["base_turn_id"], ["turns.id"], name="fk_turns_base_turn_id_turns", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name="fk_turns_conversation_id_conversations"
        ),
        sa.ForeignKeyConstraint(
            ["system_prompt_id"],
            ["system_prompts.id"],
            name="fk_turns_system_prompt_id_system_prompts",
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["user_message_id"],
            ["messages.id"],
            name="fk_turns_user_message_id_messages",
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
    )
    op.create_index("ix_turns_assistant_message_id", "turns", ["assistant_message_id"], unique=False)
    op.create_index("ix_turns_base_turn_id", "turns", ["base_turn_id"], unique=False)
    op.create_index("ix_turns_conversation_id", "turns", ["conversation_id"], unique=False)
    op.create_index("ix_turns_created_at", "turns", ["created_at"], unique=False)
    op.create_index("ix_turns_system_prompt_id", "turns", ["system_prompt_id"], unique=False)
    op.create_index("ix_turns_user_message_id", "turns", ["user_message_id"], unique=False)
    op.create_index("ix_turns_worker_id", "turns", ["worker_id"], unique=False)
    op.create_index(
        "uq_turns_live_conversation_id",
        "turns",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("status IN ('queued', 'running')"),
        postgresql_where=sa.text("status IN ('queued', 'running')"),
    )

    op.create_table(
        "submissions",
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("submission_key", sa.String(length=64), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_submissions_owner_id_users", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_submissions_turn_id_turns", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner_id", "submission_key", name="pk_submissions"),
    )
    op.create_index("ix_submissions_turn_id", "submissions", ["turn_id"], unique=False)


def downgrade() -> None:
    op.drop_table("submissions")
    op.drop_table("turns")
    op.drop_table("messages")
    op.drop_table("sessions")
    op.drop_table("invites")
    op.drop_table("conversations")
    op.drop_table("audit_log")
    op.drop_table("workers")
    op.drop_table("users")
    op.drop_table("system_prompts")
    op.drop_table("settings")
    op.drop_table("events")
