"""What a person meets at the command line: one clear line and exit code 1 where something is wrong at start."""

import socket
import sqlite3
import stat
import sys
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from app.cli import main
from tests.processes import RECOUNT, Process, clean_environment, free_port


def fails(*command: str, folder: Path, **settings: str) -> str:
    """The one line that the command leaves before it ends with code 1; progress lines are not counted."""
    with Process(*RECOUNT, *command, environment=clean_environment(**settings), folder=folder) as process:
        assert process.wait() == 1, process.output
    lines = [line for line in process.lines if line.startswith("recount")]
    assert len(lines) == 1, process.output
    assert "Traceback" not in process.output
    return lines[0]


def test_a_taken_port_is_named_before_anything_slow_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = fails("serve", folder=tmp_path, RECOUNT_PORT=port)
    assert f"port {port}" in line
    assert "RECOUNT_PORT" in line


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    settings = {"RECOUNT_PORT": str(free_port()), "RECOUNT_INFERENCE_PORT": str(free_port())}
    assert "gone.gguf" in fails("serve", folder=tmp_path, RECOUNT_MODEL=str(tmp_path / "gone.gguf"), **settings)


def test_a_taken_inference_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = fails("serve", folder=tmp_path, RECOUNT_PORT=str(free_port()), RECOUNT_INFERENCE_PORT=port)
    assert f"port {port}" in line


@pytest.mark.parametrize("folder", ["/proc/recount", "a-file"])
def test_a_data_folder_that_cannot_be_written_is_named(tmp_path: Path, folder: str) -> None:
    (tmp_path / "a-file").write_text("not a folder")
    line = fails("serve", folder=tmp_path, RECOUNT_DATA_DIR=folder)
    assert folder in line
    assert "cannot be written" in line


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("RECOUNT_PORT", "99999", "less than or equal to 65535"),
        ("RECOUNT_PORT", "http", "valid integer"),
        ("RECOUNT_BACKENDS", "not json", "RECOUNT_BACKENDS must be JSON"),
        ("RECOUNT_TRUSTED_HOSTS", "example.com", "RECOUNT_TRUSTED_HOSTS must be JSON"),
        ("RECOUNT_PROT", "8000", "no setting RECOUNT_PROT; did you mean RECOUNT_PORT?"),
        ("RECOUNT_REDIS_URL", "bogus", "RECOUNT_REDIS_URL"),
        ("RECOUNT_BACKENDS", '[{"name": "x"}]', "BASE_URL"),
        ("RECOUNT_DATABASE_URL", "mysql://x", "mysql"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, name: str, value: str, words: str) -> None:
    assert words in fails("migrate", folder=tmp_path, **{name: value})


def test_settings_come_from_a_file_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("RECOUNT_PORT=70000\n")
    assert "RECOUNT_PORT" in fails("migrate", folder=tmp_path)


def test_the_app_does_not_start_on_a_database_of_another_revision(tmp_path: Path) -> None:
    assert "recount migrate" in fails("app", folder=tmp_path, RECOUNT_PORT=str(free_port()))
    with Process(*RECOUNT, "migrate", environment=clean_environment(), folder=tmp_path) as migration:
        assert migration.wait() == 0, migration.output
    with sqlite3.connect(tmp_path / "data" / "recount.db") as database:
        database.execute("UPDATE alembic_version SET version_num = 'other'")
    database.close()
    assert "revision" in fails("app", folder=tmp_path, RECOUNT_PORT=str(free_port()))


def test_a_second_process_of_the_app_is_refused_in_one_line(tmp_path: Path) -> None:
    """In a rhythm in which the first process need not be waited for that long."""
    with Process(*RECOUNT, "migrate", environment=clean_environment(), folder=tmp_path) as migration:
        assert migration.wait() == 0, migration.output
    with sqlite3.connect(tmp_path / "data" / "recount.db") as database:
        alive = (UUID(int=1).hex, "elsewhere/1", *["2199-01-01 00:00:00.000000"] * 2)
        database.execute("INSERT INTO workers (id, host, started_at, heartbeat_at) VALUES (?, ?, ?, ?)", alive)
    database.close()
    impatient = f"""
import asyncio
from app import cli
from app.turns.rhythm import Rhythm
with cli._one_line_for_errors():
    settings = cli._prepare(cli._read_settings())
    with cli._bind("127.0.0.1", {free_port()}, "RECOUNT") as listener:
        asyncio.run(cli._serve(settings, listener, with_inference=False, rhythm=Rhythm(stale_after=0.1, poll=0.01)))
"""
    with Process(sys.executable, "-c", impatient, environment=clean_environment(), folder=tmp_path) as process:
        assert process.wait() == 1, process.output
    lines = [line for line in process.lines if "waiting until" not in line]
    assert len(lines) == 1, process.output
    assert lines[0].startswith("recount: Another process serves this database (elsewhere/1).")


def test_the_inference_key_is_made_once_and_kept_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keys = []
    for _ in range(2):
        assert CliRunner().invoke(main, ["migrate"]).exit_code == 0
        keys.append((tmp_path / "data" / "inference.key").read_text())
    assert keys[0] == keys[1]
    assert len(keys[0]) >= 43
    assert stat.S_IMODE((tmp_path / "data" / "inference.key").stat().st_mode) == 0o600


def test_what_people_say_is_kept_from_other_accounts(tmp_path: Path) -> None:
    with Process(*RECOUNT, "migrate", environment=clean_environment(), folder=tmp_path) as migration:
        assert migration.wait() == 0, migration.output
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").iterdir()}
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert "recount.db" in modes


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "recount.db").write_text("these are notes" * 100)
    assert "database" in fails("migrate", folder=tmp_path)


def test_models_and_migrations_agree() -> None:
    result = CliRunner().invoke(main, ["migrate", "--check"])
    assert (result.exit_code, result.output) == (0, "")


def test_infer_hands_its_flags_to_the_server(tmp_path: Path) -> None:
    with Process(*RECOUNT, "infer", "--help", environment=clean_environment(), folder=tmp_path) as process:
        assert process.wait() == 0
