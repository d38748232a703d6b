"""`recount verify`: a line for each problem, a summary, and an exit code that scripts can use."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import update

from app.cli import main
from app.database import Database
from app.models import StoredSetting, SystemPrompt
from tests.app.verification import golden


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a migrated database in it."""
    monkeypatch.chdir(tmp_path)
    assert run("migrate").exit_code == 0
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


async def store_golden(folder: Path, *, damaged: bool) -> None:
    database = Database(f"sqlite:///{folder}/data/recount.db")
    conversation = golden.load(1)
    async with database.write() as session:
        await conversation.store(session)
        session.add(StoredSetting(key="instance_secret", value=conversation.secret.hex()))
        if damaged:
            await session.execute(update(SystemPrompt).where(SystemPrompt.id == UUID(int=1)).values(text="Other"))
    await database.close()


def test_verify_says_that_all_is_well(folder: Path) -> None:
    asyncio.run(store_golden(folder, damaged=False))
    for arguments in (["verify"], ["verify", "g2ld3n22"], ["verify", str(UUID(int=1))]):
        result = run(*arguments)
        assert result.exit_code == 0
        assert result.output.splitlines() == [
            "9 turns: 9 match, 0 differ, 0 cannot be rebuilt (deleted), 0 have no hash (never sent, or imported)"
        ]


def test_verify_names_each_problem_and_ends_with_code_1(folder: Path) -> None:
    asyncio.run(store_golden(folder, damaged=True))
    result = run("verify")
    assert result.exit_code == 1
    *problems, summary = result.output.splitlines()
    assert [line.split(":")[0] for line in problems] == [f"g2ld3n22 turn {number}" for number in (1, 3, 4, 5, 6, 7, 8)]
    assert summary.startswith("9 turns: 2 match, 7 differ")
    assert "Golden" not in result.output


def test_verify_knows_no_such_conversation(folder: Path) -> None:
    result = run("verify", "zzzz")
    assert (result.exit_code, result.output) == (1, "recount: There is no conversation zzzz.\n")


def test_verify_of_nothing_is_well(folder: Path) -> None:
    result = run("verify")
    assert result.exit_code == 0
    assert result.output.startswith("0 turns: ")
