from contextlib import suppress

import anyio
import pytest
from sqlalchemy import func, select

from app.database import Database
from app.database.engine import parse_url
from app.errors import ConfigurationError
from app.models import StoredSetting

pytestmark = pytest.mark.anyio


async def test_write_commits_at_the_end_and_rolls_back_on_an_error(database: Database) -> None:
    async with database.write() as session:
        session.add(StoredSetting(key="kept", value="1"))
    with suppress(RuntimeError):
        async with database.write() as session:
            session.add(StoredSetting(key="lost", value="1"))
            await session.flush()
            raise RuntimeError
    async with database.read() as session:
        assert list(await session.scalars(select(StoredSetting.key))) == ["kept"]


async def test_writers_that_read_first_wait_for_each_other(database_url: str) -> None:
    """Two engines stand for two processes."""
    databases = [Database(database_url), Database(database_url)]
    async with databases[0].write() as session:
        session.add(StoredSetting(key="count", value="0"))

    async def increment(database: Database) -> None:
        async with database.write() as session:
            query = select(StoredSetting).where(StoredSetting.key == "count").with_for_update()
            setting = (await session.scalars(query)).one()
            await anyio.sleep(0.005)
            setting.value = str(int(setting.value) + 1)

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(increment, databases[number % 2])
    async with databases[0].read() as session:
        assert await session.scalar(select(StoredSetting.value)) == "20"
    for database in databases:
        await database.close()


async def test_readers_go_on_while_somebody_writes(database: Database) -> None:
    async with database.write() as writing:
        writing.add(StoredSetting(key="new", value="1"))
        await writing.flush()
        async with database.read() as session:
            assert await session.scalar(select(func.count()).select_from(StoredSetting)) == 0


async def test_rows_stay_readable_after_their_unit_of_work(database: Database) -> None:
    async with database.write() as session:
        setting = StoredSetting(key="kept", value="1")
        session.add(setting)
    assert setting.value == "1"


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "nonsense", "postgresql://h:port/d"])
def test_urls_of_other_databases_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="RECOUNT_DATABASE_URL"):
        parse_url(url)
