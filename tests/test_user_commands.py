"""Accounts from the console."""

import os
import pty
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from tests.processes import RECOUNT, clean_environment

PASSWORD = "a long enough password"


@pytest.fixture(autouse=True)
def migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of an empty database, in the folder where the commands run."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["migrate"]).exit_code == 0
    return tmp_path / "data" / "recount.db"


def run(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(main, ["user", *arguments], input=typed)


def rows(file: Path, query: str) -> Sequence[tuple[object, ...]]:
    connection = sqlite3.connect(file)
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_the_console_makes_disables_and_enables_accounts(migrated: Path) -> None:
    assert run("create", "mina", "--operator", typed=f"{PASSWORD}\n").output == "Made mina.\n"
    assert run("create", "jun", typed=PASSWORD).exit_code == 0
    assert rows(migrated, "SELECT name, role, disabled_at FROM users ORDER BY id") == [
        ("mina", "operator", None),
        ("jun", "user", None),
    ]
    assert run("disable", "JUN").exit_code == 0
    assert rows(migrated, "SELECT count(*) FROM users WHERE disabled_at IS NOT NULL") == [(1,)]
    assert run("enable", "jun").exit_code == 0
    assert rows(migrated, "SELECT count(*) FROM users WHERE disabled_at IS NOT NULL") == [(0,)]
    before = rows(migrated, "SELECT password_hash FROM users WHERE name = 'jun'")
    assert run("reset-password", "jun", typed="another long one\n").exit_code == 0
    assert rows(migrated, "SELECT password_hash FROM users WHERE name = 'jun'") != before
    assert rows(migrated, "SELECT action, actor_id, remote FROM audit_log ORDER BY id") == [
        (action, None, None)
        for action in ("account_made", "account_made", "account_disabled", "account_enabled", "password_reset")
    ]


@pytest.mark.parametrize(
    ("arguments", "typed", "words"),
    [
        (("create", "mina"), PASSWORD, "This name is taken."),
        (("create", "jun"), "short", "A password has 8"),
        (("create", "jun"), "", "A password has 8"),
        (("create", "jun"), "password1", "among the first that others would try"),
        (("disable", "nobody"), "", "There is no account nobody."),
        (("disable", "mina"), "", "This is the last operator"),
        (("reset-password", "mina"), "12345678", "among the first that others would try"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments: tuple[str, ...], typed: str, words: str) -> None:
    assert run("create", "mina", "--operator", typed=PASSWORD).exit_code == 0
    result = run(*arguments, typed=typed)
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stderr.startswith("recount: ")
    assert result.stderr.count("\n") == 1


def test_no_command_takes_a_password_as_an_argument() -> None:
    assert run("create", "mina", PASSWORD).exit_code == 2
    for command in ("create", "reset-password"):
        assert "--password" not in run(command, "--help").output


def test_a_database_of_another_revision_is_named(migrated: Path) -> None:
    migrated.unlink()
    result = run("create", "mina", typed=PASSWORD)
    assert result.exit_code == 1
    assert "recount migrate" in result.stderr


def test_a_terminal_is_asked_twice_and_shows_nothing_that_is_typed(migrated: Path) -> None:
    terminal, its_end = pty.openpty()
    command = subprocess.Popen(
        [*RECOUNT, "user", "create", "jun"],
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        env=clean_environment(),
        start_new_session=True,
    )
    os.close(its_end)
    shown = ""
    for prompt in ("Password: ", "Repeat for confirmation: "):
        while prompt not in shown:
            shown += os.read(terminal, 1000).decode()
        os.write(terminal, f"{PASSWORD}\n".encode())
    while "Made jun." not in shown:
        shown += os.read(terminal, 1000).decode()
    assert command.wait(60) == 0
    os.close(terminal)
    assert PASSWORD not in shown
    assert rows(migrated, "SELECT name FROM users") == [("jun",)]
