import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import create_engine, event, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.database import check_drift, check_revision, migrate
from app.database.engine import parse_url
from app.database.migration import migrations_folder
from app.database.types import new_id
from app.errors import ConfigurationError
from app.models import Conversation, Message, Turn, User
from tests.app.databases import DatabaseFactory, SqliteFactory
from tests.app.houses import START


@contextmanager
def transaction(url: str, *, checked: bool = True) -> Iterator[Session]:
    """One transaction by the plain driver; `checked` False leaves SQLite's foreign keys off."""
    parsed = parse_url(url)
    sqlite = parsed.drivername == "sqlite"
    engine = create_engine(parsed.set(drivername="sqlite+pysqlite" if sqlite else "postgresql+psycopg"))
    if sqlite and checked:
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=ON"))
    try:
        with Session(engine, expire_on_commit=False) as session, session.begin():
            yield session
    finally:
        engine.dispose()


def run(session: Session, sql: str) -> None:
    session.connection().exec_driver_sql(sql)


def add_conversation(session: Session, name: str = "anna") -> Conversation:
    user = User(name=name, name_key=name, password_hash="x", role="user", created_at=START)
    session.add(user)
    session.flush()
    conversation = Conversation(owner_id=user.id, reference=name, created_at=START, updated_at=START)
    session.add(conversation)
    session.flush()
    return conversation


def add_message(session: Session, conversation: Conversation, seq: int, parent: UUID | None) -> UUID:
    message = Message(
        id=new_id(),
        conversation_id=conversation.id,
        parent_id=parent,
        seq=seq,
        role="user",
        text="a",
        created_at=START,
    )
    session.add(message)
    session.flush()
    return message.id


def turn(conversation: Conversation, status: str, base: UUID | None = None) -> Turn:
    return Turn(
        conversation_id=conversation.id,
        purpose="chat",
        kind="question",
        prompt_format=1,
        status=status,
        base_turn_id=base,
        created_at=START,
    )


def test_migrate_can_be_run_again_on_a_filled_database(databases: DatabaseFactory) -> None:
    url = databases.empty()
    migrate(url)
    with transaction(url) as session:
        conversation = add_conversation(session)
        add_message(session, conversation, 2, add_message(session, conversation, 1, None))
        session.add(turn(conversation, "completed"))
    migrate(url)
    check_revision(url)
    with transaction(url) as session:
        counts = [session.scalar(select(func.count()).select_from(table)) for table in (Message, Turn)]
    assert counts == [2, 1]


def test_models_and_migrations_agree(database_url: str) -> None:
    assert check_drift(database_url) is None


def test_drift_is_found(databases: DatabaseFactory) -> None:
    url = databases.migrated()
    with transaction(url) as session:
        run(session, "ALTER TABLE events DROP COLUMN detail")
    drift = check_drift(url)
    assert drift is not None
    assert "detail" in drift


def test_one_live_turn_per_conversation_and_any_number_of_ended_ones(database_url: str) -> None:
    with transaction(database_url) as session:
        conversation = add_conversation(session)
        session.add_all(turn(conversation, status) for status in ("completed", "failed", "running"))
        session.flush()
    with pytest.raises(IntegrityError), transaction(database_url) as session:
        session.add(turn(conversation, "queued"))


def test_a_parent_in_another_conversation_is_refused(database_url: str) -> None:
    with transaction(database_url) as session:
        theirs = add_message(session, add_conversation(session, "anna"), 1, None)
    with pytest.raises(IntegrityError), transaction(database_url) as session:
        add_message(session, add_conversation(session, "berta"), 1, theirs)


def test_equal_sequence_numbers_are_refused(database_url: str) -> None:
    with transaction(database_url) as session:
        conversation = add_conversation(session)
        add_message(session, conversation, 1, None)
    with pytest.raises(IntegrityError), transaction(database_url) as session:
        add_message(session, conversation, 1, None)


def test_check_revision_refuses_a_missing_and_a_foreign_revision(databases: DatabaseFactory) -> None:
    with pytest.raises(ConfigurationError, match="recount migrate"):
        check_revision(databases.empty())
    url = databases.migrated()
    with transaction(url) as session:
        run(session, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(ConfigurationError, match="9999"):
        check_revision(url)


def test_migrate_makes_the_data_folder(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path / 'deep' / 'down' / 'recount.db'}")
    assert (tmp_path / "deep" / "down" / "recount.db").is_file()


def test_migrate_says_in_one_line_why_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    unreachable = "postgresql://nobody@127.0.0.1:1/none"
    for url in (f"sqlite:///{tmp_path}/file/recount.db", f"sqlite:///{tmp_path}/folder", unreachable):
        with pytest.raises(ConfigurationError) as caught:
            migrate(url)
        assert "\n" not in caught.value.message


def test_a_file_that_is_no_database_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "recount.db").write_text("This is no database. " * 100)
    for function in (migrate, check_revision, check_drift):
        with pytest.raises(ConfigurationError, match="RECOUNT_DATABASE_URL") as caught:
            function(f"sqlite:///{tmp_path / 'recount.db'}")
        assert "\n" not in caught.value.message


def test_migrations_are_found_in_the_checkout() -> None:
    assert (migrations_folder() / "env.py").is_file()


def test_migrate_refuses_broken_references_and_changes_nothing(databases: DatabaseFactory) -> None:
    url = databases.migrated()
    if not url.startswith("sqlite"):
        with pytest.raises(IntegrityError), transaction(url) as session:
            session.add(turn(add_conversation(session), "completed", base=new_id()))
        return
    with transaction(url, checked=False) as session:
        session.add(turn(add_conversation(session), "completed", base=new_id()))
    with pytest.raises(ConfigurationError, match="turns"):
        migrate(url)


def test_two_processes_can_migrate_at_once(databases: DatabaseFactory) -> None:
    url = databases.empty()
    script = "import sys; from app.database import migrate; migrate(sys.argv[1])"
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-W", "error", "-c", script, url]
    processes = [subprocess.Popen(command, cwd=root, env=environment) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    check_revision(url)


def test_migrated_file_has_its_write_ahead_log_before_processes_open_it_at_once(sqlite_factory: SqliteFactory) -> None:
    """A switch under others fails at once, and nothing waits for it."""
    url = sqlite_factory.empty()
    migrate(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
