"""A deployment with three faults, on two real servers: the operator's page names each one, and leads there.

One conversation's system prompt is edited each turn to today's time, one server is started again, and the pool of the
other has room for half of its conversations. Operators may not read texts here.
"""

import itertools
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.settings import Backend
from inference_server.bundled_model import bundled_model
from tests.app.web.visitor import Visitor
from tests.browser.conftest import Beginning, RunningSite, app_on
from tests.inference_server.serving import KEY, serve_model, until
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend

pytestmark = [pytest.mark.browser, pytest.mark.model]

MIB = 1024 * 1024
LONG = "one two three " * 130
"""About 400 tokens. The small pool has room for one such conversation, and not for two."""
SMALL_POOL = 14 * MIB


class Replica:
    """A server with the bundled model that can be started again at the same place."""

    def __init__(self, kv_bytes: int) -> None:
        self._kv_bytes = kv_bytes
        self.url = ""
        self._running = ExitStack()

    def start(self) -> None:
        port = int(self.url.rpartition(":")[2] or 0)
        served = serve_model(bundled_model(), port=port, compute="auto", kv_bytes=self._kv_bytes)
        self.url = self._running.enter_context(served).url

    def stop(self) -> None:
        self._running.close()

    def backend(self, name: str) -> Backend:
        return Backend(
            name=name, base_url=self.url, api_key=KEY, early_message_start=True, diagnostics=True, inspection=True
        )


class Deployment:
    """Two replicas behind one app, and an operator who chats there too."""

    def __init__(self, site: RunningSite, east: Replica) -> None:
        self.site = site
        self._east = east
        self._mina: Visitor = site.set_up()
        self._numbers = itertools.count(1)

    def begin(self, backend: str) -> str:
        """The path of a new conversation there; each goes where its id leads it, so some go to the other.

        No two begin alike: their answers might be alike, too, and then one place in the pool would be enough for both.
        """
        while True:
            path = self.site.ask(self._mina, f"{next(self._numbers)}. {LONG}")
            conversation = path.rpartition("/")[2].replace("-", "")
            if self.site.rows(f"SELECT backend FROM turns WHERE conversation_id = '{conversation}'") == [(backend,)]:  # noqa: S608
                return path

    def ask(self, *paths: str) -> None:
        for path in paths:
            self.site.ask(self._mina, "And now?", path)

    def restart_east(self) -> None:
        """And wait until the app has seen the new start, and so knows that it is there."""
        self._east.stop()
        self._east.start()
        starts = "SELECT count(*) FROM events WHERE kind = 'server_start' AND backend = 'east'"
        until(lambda: self.site.rows(starts) == [(2,)])

    def tell_the_time(self, path: str, minute: int) -> None:
        self._mina.open(path)
        self._mina.submit(f"{path}/system-prompt", system_prompt=f"Answer in one word. It is 14:0{minute} now.")
        self.ask(path)


@pytest.fixture
def deployment(tmp_path: Path, beginning: Beginning) -> Iterator[Deployment]:
    file = str(shutil.copy(beginning.empty, tmp_path / "recount.db"))
    with ExitStack() as stack:
        east, west = Replica(64 * MIB), Replica(SMALL_POOL)
        for replica in (east, west):
            stack.callback(replica.stop)
            replica.start()
        backends = (east.backend("east"), west.backend("west"))
        server = stack.enter_context(LiveServer(app_on(file, east.url, backends=backends, answer_tokens=8)))
        site = RunningSite(server.url, file, ScriptedBackend(), server=server, backend_url="", beginning=beginning)
        stack.callback(site.close)
        yield Deployment(site, east)


@pytest.fixture
def site(deployment: Deployment) -> RunningSite:
    return deployment.site


def test_the_three_faults_come_first_and_each_worst_turn_is_two_clicks_away(
    deployment: Deployment, signed_in: BrowserContext, page: Page
) -> None:
    kept = deployment.begin("east")
    deployment.restart_east()
    deployment.ask(kept)
    clock = deployment.begin("east")
    for minute in range(3, 8):
        deployment.tell_the_time(clock, minute)
    crowded = [deployment.begin("west") for _ in range(2)]
    deployment.ask(*crowded, *crowded)

    page.goto("/operator")
    rows = page.locator("table.problems").first.locator("tbody tr")
    names = {"volatile_system_prompt", "evicted", "restarted"}
    assert {rows.nth(place).get_attribute("data-outcome") for place in range(3)} == names
    for outcome in names:
        page.goto("/operator")
        row = page.locator(f'table.problems tr[data-outcome="{outcome}"]').first
        expect(row.locator(".lost-cell strong")).to_have_text(re.compile(r"^[1-9][\d,]*$"))
        expect(row.locator(".lost-cell .coverage")).to_have_text(re.compile(r"^(about [\d.,]+|under 1) s$"))
        row.locator('[data-link="worst"]').click()
        expect(page.locator(f'[data-outcome="{outcome}"]').first).to_be_visible()
        if outcome == "volatile_system_prompt":
            expect(page.locator("main")).to_contain_text("looks like a time")
            page.get_by_role("link", name="Show it in the strip").click()
            expect(page.locator(".token.diverged")).to_be_visible()
        assert "one two three" not in page.content()
