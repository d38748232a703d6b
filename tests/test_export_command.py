"""``recount export``: the same files as a person's own download, at the console."""

import asyncio
import json
import sqlite3
import zipfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.house import open_house
from tests.app.houses import QUICK, add_user, ask, settings_for
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend


@pytest.fixture
def own_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Anna's, who has two conversations. The database lies where the commands look for it."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["migrate"]).exit_code == 0
    with LiveServer(ScriptedBackend(), lifespan=False) as server:
        return asyncio.run(two_conversations(server.url))


async def two_conversations(backend_url: str) -> bytes:
    async with open_house(settings_for("sqlite:///data/recount.db", backend_url), rhythm=QUICK) as house:
        anna = await add_user(house.database)
        for text in ("One", "Two"):
            await ask(house, anna, text)
        await ask(house, await add_user(house.database, "Berta"), "Private")
        return b"".join([piece async for piece in await house.exports.everything(anna)])


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["export", *arguments])


def files_of(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def console_entries() -> Sequence[tuple[str, str]]:
    connection = sqlite3.connect("data/recount.db")
    query = (
        "SELECT action, name FROM audit_log JOIN users ON users.id = replace(subject, '-', '') WHERE actor_id IS NULL"
    )
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_it_writes_what_the_person_can_download(own_download: bytes, tmp_path: Path) -> None:
    Path("own.zip").write_bytes(own_download)
    result = run("ANNA", "console.zip")
    assert (result.exit_code, result.output) == (0, "Wrote 2 conversations of ANNA to console.zip.\n")
    assert files_of(Path("console.zip")) == files_of(Path("own.zip"))
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run("anna", str(folder)).exit_code == 0
    written = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.json")}
    assert written == files_of(Path("own.zip"))
    assert json.loads(written["profile.json"])["name"] == "Anna"
    assert console_entries() == [("all_data_exported", "Anna")] * 2

    for arguments, words in (
        (("nobody", "x.zip"), "There is no account nobody."),
        (("anna", "console.zip"), "console.zip cannot be written: File exists."),
        (("anna", str(folder)), ".json cannot be written: File exists."),
        (("anna", "missing/x.zip"), "missing/x.zip cannot be written: No such file or directory."),
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith("recount: ")
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
    assert not Path("x.zip").exists()
    assert list(tmp_path.rglob(".recount-export-*")) == []


def test_an_export_that_breaks_off_leaves_nothing_behind(own_download: bytes, tmp_path: Path) -> None:
    last = "SELECT max(id) FROM conversations WHERE owner_id = (SELECT id FROM users WHERE name_key = 'anna')"
    with closing(sqlite3.connect("data/recount.db")) as connection, connection:
        connection.execute(f"UPDATE turns SET params = '{{' WHERE conversation_id = ({last})")  # noqa: S608 - our words
    folder = tmp_path / "folder"
    folder.mkdir()
    before = sorted(tmp_path.iterdir())
    for target in ("console.zip", str(folder)):
        assert run("anna", target).exit_code == 1
        assert (sorted(tmp_path.iterdir()), list(folder.iterdir())) == (before, [])
