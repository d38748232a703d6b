"""Every released revision is migrated with rows in it, and the newest schema keeps its rules."""

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from app.database import check_drift, check_revision, migrate
from app.models import Conversation, Message, Submission, Turn, User, UserSession
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
    "INSERT INTO sessions (id, token_hash, user_id, created_at, last_seen_at, expires_at) VALUES"
    " ('{id}5', 'hash', '{id}1', '2026-01-01 00:00:00', '2026-01-01 00:00:00', '2026-02-01 00:00:00')",
    "INSERT INTO submissions (owner_id, submission_key, body_sha256, turn_id) VALUES ('{id}1', 'key', 'hash', '{id}4')",
)


@pytest.mark.parametrize("revision", ["0001", "0002"])
def test_a_filled_database_of_an_earlier_revision_keeps_its_rows_and_rules(
    databases: DatabaseFactory, revision: str
) -> None:
    url = databases.empty()
    migrate(url, revision)
    with transaction(url) as session:
        for statement in FILLED_0001:
            run(session, statement.format(id=ID))
    migrate(url)
    check_revision(url)
    assert check_drift(url) is None
    with transaction(url) as session:
        conversation = session.scalars(select(Conversation)).one()
        assert conversation.title == "Title"
        assert conversation.seen_at == (conversation.updated_at if revision == "0001" else None)
        assert session.scalars(select(User.context_notes)).all() == [True]
        assert session.scalars(select(UserSession.token_hash)).all() == ["hash"]
        assert session.scalars(select(Submission.submission_key)).all() == ["key"]
        assert session.scalars(select(Message.text)).all() == ["Text"]
        assert [row.imported_at for row in session.scalars(select(Turn))] == [None]
        session.add_all(turn(conversation, "completed") for _ in range(2))
    with pytest.raises(IntegrityError), transaction(url) as session:
        session.add(turn(conversation, "queued"))
    with transaction(url) as session:
        session.add(turn(add_conversation(session), "queued"))
