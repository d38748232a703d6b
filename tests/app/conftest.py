"""Fixtures of the app's tests: every one that touches SQL runs on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from starlette.types import Receive, Scope, Send

from app.database import Database
from app.house import House, open_house
from tests.app.databases import DatabaseFactory, PostgresFactory, SqliteFactory
from tests.app.houses import QUICK, MovingClock, add_user, settings_for
from tests.app.postgres_server import running_postgres
from tests.app.redis_server import RedisServer, running_redis
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_factory() -> Iterator[PostgresFactory]:
    with running_postgres() as url:
        yield PostgresFactory(url)


@pytest.fixture(scope="session")
def sqlite_factory(tmp_path_factory: pytest.TempPathFactory) -> SqliteFactory:
    folder: Path = tmp_path_factory.mktemp("sqlite")
    return SqliteFactory(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest) -> DatabaseFactory:
    name = "sqlite_factory" if request.param == "sqlite" else "postgres_factory"
    factory: DatabaseFactory = request.getfixturevalue(name)
    return factory


@pytest.fixture
def database_url(databases: DatabaseFactory) -> Iterator[str]:
    url = databases.migrated()
    yield url
    databases.recycle(url)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    """For tests that leave it running."""
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """Of this test alone, which may do what it likes to it."""
    with running_redis() as server:
        yield server


class Stage:
    """The one server of the session plays whichever backend stands on it."""

    backend: ScriptedBackend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.backend(scope, receive, send)


@pytest.fixture(scope="session")
def stage() -> Iterator[tuple[Stage, str]]:
    stage = Stage()
    with LiveServer(stage, lifespan=False) as server:
        yield stage, server.url


@pytest.fixture
def backend(stage: tuple[Stage, str]) -> ScriptedBackend:
    stage[0].backend = ScriptedBackend()
    return stage[0].backend


@pytest.fixture
def backend_url(stage: tuple[Stage, str], backend: ScriptedBackend) -> str:
    return stage[1]


@pytest.fixture
async def house(database_url: str, backend_url: str, clock: MovingClock) -> AsyncIterator[House]:
    settings = settings_for(database_url, backend_url)
    async with open_house(settings, clock=clock, rhythm=QUICK) as house:
        yield house


@pytest.fixture
async def anna(house: House) -> UUID:
    return await add_user(house.database)
