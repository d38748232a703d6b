"""Without Redis one process serves a database; a second one is refused, but a successor is waited for."""

from contextlib import AsyncExitStack
from dataclasses import replace

import anyio
import pytest
from sqlalchemy import select

from app.database import Database
from app.errors import ConfigurationError
from app.house import open_house
from app.models import Worker
from app.turns.workers import Process
from tests.app.houses import QUICK, START, MovingClock, add_user, ask, last_answer, settings_for
from tests.app.redis_server import NO_REDIS
from tests.app.turns.test_workers import add_worker

pytestmark = pytest.mark.anyio

# With a clock that stands still, so that no heartbeat grows old.
IMPATIENT = replace(QUICK, stale_after=0.5)
ELSEWHERE = Process("elsewhere", 1)


async def hosts(database: Database) -> list[str]:
    async with database.read() as session:
        return list(await session.scalars(select(Worker.host)))


async def test_a_second_process_without_redis_is_refused_and_the_first_goes_on(
    database_url: str, backend_url: str
) -> None:
    settings = settings_for(database_url, backend_url)
    async with open_house(settings, clock=MovingClock(), rhythm=IMPATIENT) as house:
        with pytest.raises(ConfigurationError, match=rf"{Process.own()}.*RECOUNT_REDIS_URL"):
            async with open_house(settings, clock=MovingClock(), rhythm=IMPATIENT, process=ELSEWHERE):
                raise AssertionError("it serves")
        assert await hosts(house.database) == [str(Process.own())]
        owner = await add_user(house.database)
        sent = await ask(house, owner)
        assert (await last_answer(house, owner, sent.conversation_id)).text


async def test_two_processes_with_redis_serve_together_even_while_it_is_away(
    database_url: str, backend_url: str
) -> None:
    settings = settings_for(database_url, backend_url, redis_url=NO_REDIS)
    async with (
        open_house(settings, clock=MovingClock(), rhythm=IMPATIENT) as house,
        open_house(settings, clock=MovingClock(), rhythm=IMPATIENT, process=ELSEWHERE),
    ):
        assert len(await hosts(house.database)) == 2


async def test_a_successor_waits_until_its_predecessor_has_ended(database_url: str, backend_url: str) -> None:
    settings = settings_for(database_url, backend_url)
    serving = anyio.Event()
    enough = anyio.Event()

    async def succeed() -> None:
        async with open_house(settings, rhythm=QUICK, process=ELSEWHERE):
            serving.set()
            await enough.wait()

    async with anyio.create_task_group() as group:
        async with open_house(settings, rhythm=QUICK):
            group.start_soon(succeed)
            await anyio.sleep(0.3)
            assert not serving.is_set()
        await serving.wait()
        enough.set()


async def test_a_predecessor_that_was_killed_elsewhere_is_waited_for_until_its_heartbeat_is_old(
    database: Database, database_url: str, backend_url: str
) -> None:
    clock = MovingClock()
    await add_worker(database, START, "another-host/1")
    serving = anyio.Event()

    async def start() -> None:
        async with open_house(settings_for(database_url, backend_url), clock=clock, rhythm=QUICK):
            serving.set()

    async with anyio.create_task_group() as group:
        group.start_soon(start)
        await anyio.sleep(0.3)
        assert not serving.is_set()
        clock.advance(seconds=21)
    assert serving.is_set()


async def test_of_processes_that_start_together_one_serves(database_url: str, backend_url: str) -> None:
    settings = settings_for(database_url, backend_url)
    results: list[str] = []
    decided = anyio.Event()

    async def start(number: int) -> None:
        async with AsyncExitStack() as stack:
            try:
                process = Process(f"host-{number}", 1)
                await stack.enter_async_context(
                    open_house(settings, clock=MovingClock(), rhythm=IMPATIENT, process=process)
                )
                results.append("serves")
            except ConfigurationError:
                results.append("refused")
            if len(results) == 3:
                decided.set()
            await decided.wait()

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(start, number)
    assert sorted(results) == ["refused", "refused", "serves"]
