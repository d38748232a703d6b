"""The banner comes and goes by itself while a page stays open, and what is typed stays."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.turns.rhythm import Rhythm
from app.web.application import create_app
from tests.app.houses import cheap_passwords, settings_for
from tests.app.web.site import SETUP_CODE
from tests.browser.chat import box
from tests.browser.conftest import Beginning, RunningSite
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend

pytestmark = pytest.mark.browser


@pytest.fixture
def backend_server(backend: ScriptedBackend) -> Iterator[LiveServer]:
    with LiveServer(backend, lifespan=False) as server:
        yield server


@pytest.fixture
def site(
    tmp_path: Path, backend: ScriptedBackend, backend_server: LiveServer, beginning: Beginning
) -> Iterator[RunningSite]:
    """It looks at its model server all the time."""
    file = str(shutil.copy(beginning.empty, tmp_path / "recount.db"))
    settings = settings_for(f"sqlite:///{file}", backend_server.url, setup_code=SETUP_CODE)
    with LiveServer(create_app(settings, rhythm=Rhythm(watch=0.05), passwords=cheap_passwords())) as server:
        site = RunningSite(
            server.url, file, backend, server=server, backend_url=backend_server.url, beginning=beginning
        )
        yield site
        site.close()


def test_banner_comes_and_goes_without_a_reload(
    backend: ScriptedBackend, backend_server: LiveServer, signed_in: BrowserContext, page: Page
) -> None:
    page.clock.install()
    page.goto("/")
    banner = page.locator("[data-backend] p")
    expect(banner).to_have_count(0)
    box(page).fill("half a question")
    backend_server.stop()
    expect_after_some_looks(page, 1)
    assert box(page).is_visible()
    again = LiveServer(backend, port=backend_server.port, lifespan=False)
    again.start()
    try:
        expect_after_some_looks(page, 0)
    finally:
        again.stop()
    assert box(page).input_value() == "half a question"


def expect_after_some_looks(page: Page, count: int) -> None:
    """Lets the page's time run, fifteen seconds at once, until the banner is as it should be."""
    for _ in range(100):
        page.clock.run_for(15_000)
        if page.locator("[data-backend] p").count() == count:
            return
        page.wait_for_timeout(50)
    raise TimeoutError("the banner does not change")
