"""A hundred readers of one answer: it is written once, and none of them leaves anything behind."""

from contextlib import AsyncExitStack

import anyio
import httpx
import pytest

from app.web.application import create_app
from tests.app.databases import SqliteFactory
from tests.app.houses import cheap_passwords, settings_for, until
from tests.app.web.site import SETUP_CODE, Site
from tests.app.web.test_turn_routes import read, start
from tests.live_server import LiveServer
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, ending, message_start

READERS = 100


class Crowd:
    """Everybody loads the page and follows the answer; every second one leaves at the first event."""

    def __init__(self, browser: httpx.AsyncClient, path: str, turn: str) -> None:
        self._browser = browser
        self._path = path
        self._turn = turn
        self.arrived = 0
        self.bodies: list[str] = []

    async def read(self, *, leaves: bool) -> None:
        assert (await self._browser.get(self._path)).status_code == 200
        async with self._browser.stream("GET", f"/turns/{self._turn}/events?after=0") as response:
            pieces = response.aiter_text()
            body = await anext(pieces)
            self.arrived += 1
            if not leaves:
                self.bodies.append(body + "".join([piece async for piece in pieces]))

    async def all_arrived(self) -> bool:
        return self.arrived == READERS


@pytest.mark.anyio
async def test_a_hundred_readers_leave_nothing_behind(
    sqlite_factory: SqliteFactory, backend: ScriptedBackend, backend_url: str
) -> None:
    url = sqlite_factory.migrated()
    app = create_app(settings_for(url, backend_url, setup_code=SETUP_CODE), passwords=cheap_passwords())
    gate = Gate()
    script = (message_start(), delta("Once "), gate, delta("only"), *ending(output_tokens=3))
    async with LiveServer(app) as server, AsyncExitStack() as stack:
        site = Site(server.url, url.removeprefix("sqlite:///"), backend)
        stack.callback(site.close)
        mina = await anyio.to_thread.run_sync(site.set_up)
        first = Gate()
        turn = await anyio.to_thread.run_sync(start, site, mina, message_start(), first, *answer("before")[1:])
        first.open()
        await anyio.to_thread.run_sync(read, mina, turn)  # The first stream of a process starts a task that stays.
        tasks, connections, sessions = server.tasks, server.connections, site.count("sessions")
        turn = await anyio.to_thread.run_sync(start, site, mina, *script)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        cookies = mina.client.cookies
        async with (
            httpx.AsyncClient(base_url=site.url, cookies=cookies, limits=limits, timeout=60) as browser,
            anyio.create_task_group() as group,
        ):
            crowd = Crowd(browser, mina.page.request.url.path, turn)
            for number in range(READERS):
                group.start_soon(lambda leaves: crowd.read(leaves=leaves), number % 2 == 1)
            await until(crowd.all_arrived)
            gate.open()
        assert len(crowd.bodies) == READERS // 2
        for body in crowd.bodies:
            assert [body.count(part) for part in ('"Once "', '"only"', "event: end")] == [1, 1, 1]

        async def all_is_as_it_was() -> bool:
            # What the app does beside the requests takes a connection of the database for a moment now and then.
            borrowed = app.state.house.database.pool.checkedout()
            return (server.tasks, server.connections, borrowed) == (tasks, connections, 0)

        await until(all_is_as_it_was)
        assert site.count("sessions") == sessions
        assert (site.count("turns"), site.count("messages")) == (2, 4)
        assert (len(backend.questions), backend.open_streams, backend.disconnects) == (2, 0, 0)
