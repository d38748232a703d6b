"""Whether the model server answers: seen beside the turns, with a server that really stops and starts."""

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from app.house import House, open_house
from app.models import ServingEvent
from app.settings import Backend
from app.turns.backend_watch import BackendWatch
from app.turns.backends import Backends
from app.turns.rhythm import Rhythm
from tests.app.databases import SqliteFactory
from tests.app.houses import START, MovingClock, add_user, ask, settings_for, until
from tests.live_server import LiveServer
from tests.scripted_backend import HEALTH, MESSAGES, Gate, ScriptedBackend, delta, ending, error_reply, message_start

pytestmark = pytest.mark.anyio

OFTEN = Rhythm(watch=0.02)

WatchOf = Callable[[Rhythm], BackendWatch]


@pytest.fixture
def scripted() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def server(scripted: ScriptedBackend) -> Iterator[LiveServer]:
    with LiveServer(scripted, lifespan=False) as server:
        yield server


async def nobody_asks(backend: str, serving_id: str) -> None:
    raise AssertionError("the scripted server does not name itself")


@pytest.fixture
async def watch_of(server: LiveServer) -> AsyncIterator[WatchOf]:
    """Watches the server in this rhythm."""
    opened: list[Backends] = []

    def open_one(rhythm: Rhythm) -> BackendWatch:
        opened.append(Backends([Backend(name="scripted", base_url=server.url)]))
        return BackendWatch(opened[-1], rhythm, nobody_asks)

    yield open_one
    for backends in opened:
        await backends.close()


async def test_a_house_notices_that_its_backend_goes_and_comes_back(
    sqlite_factory: SqliteFactory, scripted: ScriptedBackend, server: LiveServer
) -> None:
    async def away(house: House) -> bool:
        return house.backend_watch.away

    async def back(house: House) -> bool:
        return not house.backend_watch.away

    async with open_house(settings_for(sqlite_factory.migrated(), server.url), rhythm=OFTEN) as house:
        await scripted.until(lambda: len(scripted.requests) > 1)
        assert not house.backend_watch.away
        server.stop()
        await until(lambda: away(house))
        again = LiveServer(scripted, port=server.port, lifespan=False)
        again.start()
        try:
            await until(lambda: back(house))
        finally:
            again.stop()
    assert {request.path for request in scripted.requests} == {HEALTH}


async def test_a_house_closes_while_its_backend_says_nothing(
    sqlite_factory: SqliteFactory, scripted: ScriptedBackend, server: LiveServer
) -> None:
    gate = Gate()
    scripted.script(gate, path=HEALTH)
    async with open_house(settings_for(sqlite_factory.migrated(), server.url), rhythm=Rhythm(watch_patience=3600)):
        await gate.arrived()
    await scripted.until(lambda: scripted.disconnects == 1)


async def test_a_silent_backend_is_away_and_an_answer_brings_it_back(
    scripted: ScriptedBackend, watch_of: WatchOf
) -> None:
    watch = watch_of(Rhythm(watch_patience=0.05))
    gate = Gate()
    scripted.script(gate, path=HEALTH)
    await watch.look()
    assert watch.away
    gate.open()
    watch = watch_of(OFTEN)
    await watch.look()
    assert not watch.away


@pytest.mark.parametrize(("status", "kind", "away"), [(503, "api_error", True), (401, "authentication_error", False)])
async def test_a_backend_that_fails_is_away_and_one_that_refuses_is_there(
    scripted: ScriptedBackend, watch_of: WatchOf, status: int, kind: str, away: bool
) -> None:
    watch = watch_of(OFTEN)
    for _ in range(3):
        scripted.script(error_reply(status, kind), path=HEALTH)
    await watch.look()
    assert watch.away is away
    assert all(request.path != MESSAGES for request in scripted.requests)


async def test_a_start_of_a_server_is_stored_once_as_soon_as_it_is_seen(
    sqlite_factory: SqliteFactory, scripted: ScriptedBackend, server: LiveServer
) -> None:
    """And taken for as old as the first turn that it answered."""
    clock = MovingClock()
    scripted.serving_id = "a"

    async def starts(house: House) -> list[tuple[str | None, datetime]]:
        async with house.database.read() as session:
            query = select(ServingEvent.serving_id, ServingEvent.at).where(ServingEvent.kind == "server_start")
            return list(await session.execute(query.order_by(ServingEvent.serving_id)))

    async def seen(house: House, count: int) -> bool:
        return len(await starts(house)) == count

    settings = settings_for(sqlite_factory.migrated(), server.url)
    async with open_house(settings, clock=clock, rhythm=OFTEN) as house:
        await until(lambda: seen(house, 1))
        clock.advance(seconds=60)
        scripted.serving_id = "b"
        await until(lambda: seen(house, 2))
        assert await starts(house) == [("a", START), ("b", START + timedelta(seconds=60))]
        clock.advance(seconds=-30)
        scripted.script(message_start(serving_id="b"), delta("x"), *ending(output_tokens=2))
        await ask(house, await add_user(house.database))
        assert (await starts(house))[1] == ("b", START + timedelta(seconds=30))
