"""The doctor at the app itself: database, data folder, Redis, and accounts that share a cache."""

from pathlib import Path

import pytest

from app.database import Database
from app.doctor import Finding
from app.doctor.household import examine_household
from app.settings import Settings
from tests.app.houses import add_user, settings_for
from tests.app.redis_server import RedisServer
from tests.processes import free_port

pytestmark = pytest.mark.anyio


async def findings(settings: Settings) -> dict[str, Finding]:
    return {finding.check: finding for finding in (await examine_household(settings, 10)).findings}


def settings_of(url: str, folder: Path, isolation: str = "metadata", **changes: object) -> Settings:
    backends = ({"name": "one", "base_url": "http://one", "isolation": isolation},)
    return settings_for(url, "http://one", **{"backends": backends, "data_dir": folder, **changes})


async def test_all_is_well(database_url: str, tmp_path: Path, shared_redis: RedisServer) -> None:
    found = await findings(settings_of(database_url, tmp_path, redis_url=shared_redis.url))
    assert {check: finding.state for check, finding in found.items()} == {
        "database": "ok",
        "data folder": "ok",
        "redis": "ok",
    }


async def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    found = await findings(settings_of(f"sqlite:///{tmp_path / 'none.db'}", tmp_path, isolation="none"))
    assert found["database"].state == "fail"
    assert "run `recount migrate`" in found["database"].english
    assert not (tmp_path / "none.db").exists()


async def test_a_folder_and_a_redis_that_are_not_there(tmp_path: Path) -> None:
    url = f"redis://127.0.0.1:{free_port()}"
    found = await findings(settings_of("sqlite:///none.db", tmp_path / "none", redis_url=url))
    assert found["data folder"].state == found["redis"].state == "fail"
    assert "RECOUNT_DATA_DIR" in found["data folder"].english


@pytest.mark.parametrize(("accounts", "allowed", "state"), [(1, False, "ok"), (2, False, "fail"), (2, True, "warn")])
async def test_accounts_that_share_a_cache(
    database: Database, database_url: str, tmp_path: Path, accounts: int, allowed: bool, state: str
) -> None:
    for number in range(accounts):
        await add_user(database, f"anna{number}")
    found = await findings(settings_of(database_url, tmp_path, isolation="none", allow_shared_cache=allowed))
    assert found["sharing"].state == state
