"""Every released revision is migrated with rows in it, and the newest schema keeps its rules."""

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from app.database import check_drift, check_revision, migrate
from app.models import Conversation, Message, Turn
from tests.app.database.test_migration import add_conversation, run, transaction, turn
from tests.app.databases import DatabaseFactory

ID = "0000000000007000800000000000000"
FILLED_0001 = (
    "INSERT INTO users (id, name, name_key, password_hash, role, created_at)"
    " VALUES ('{id}1', 'a', 'a', 'x', 'user', '2026-01-01 00:00:00')",
    "INSERT INTO conversations (id, owner_id, reference, title, params, next_seq, created_at, updated_at)"
    " VALUES ('{id}2', '{id}1', 'abcdefgh', 'Title', '{{}}', 2, '2026-01-01 00:00:00', '2026-01-02 00:00:00')",
    "INSERT INTO messages (id, conversation_id, seq, role, text, created_at)"
    " VALUES ('{id}3', '{id}2', 1, 'user', 'Text', '2026-01-01 00:00:00')",
    "INSERT INTO turns (id, conversation_id, purpose, kind, user_message_id, params, prompt_format, status, created_at)"
    " VALUES ('{id}4', '{id}2', 'chat', 'question', '{id}3', '{{}}', 1, 'running', '2026-01-01 00:00:00')",
)


def test_a_filled_database_of_0001_keeps_its_rows_and_rules(databases: DatabaseFactory) -> None:
    url = databases.empty()
    migrate(url, "0001")
    with transaction(url) as session:
        for statement in FILLED_0001:
            run(session, statement.format(id=ID))
    migrate(url)
    check_revision(url)
    assert check_drift(url) is None
    with transaction(url) as session:
        conversation = session.scalars(select(Conversation)).one()
        assert (conversation.title, conversation.seen_at) == ("Title", conversation.updated_at)
        assert session.scalars(select(Message.text)).all() == ["Text"]
        assert [row.imported_at for row in session.scalars(select(Turn))] == [None]
        session.add_all(turn(conversation, "completed") for _ in range(2))
    with pytest.raises(IntegrityError), transaction(url) as session:
        session.add(turn(conversation, "queued"))
    with transaction(url) as session:
        session.add(turn(add_conversation(session), "queued"))
