"""One fresh site for each test: SQLite, the app in a real server, a scripted model server."""

from collections.abc import Callable, Iterator

import pytest

from app.turns.rhythm import Rhythm
from app.web.application import create_app
from tests.app.databases import SqliteFactory
from tests.app.houses import PATIENT, cheap_passwords, settings_for
from tests.app.web.site import SETUP_CODE, Site
from tests.app.web.visitor import Visitor
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend

OpenSite = Callable[..., Site]


@pytest.fixture
def open_site(sqlite_factory: SqliteFactory, backend: ScriptedBackend, backend_url: str) -> Iterator[OpenSite]:
    """Opens a site with changed settings; also in another rhythm, or with little room for what nobody reads."""
    opened: list[tuple[Site, LiveServer]] = []

    def open_one(rhythm: Rhythm = PATIENT, send_buffer: int | None = None, **changes: object) -> Site:
        url = sqlite_factory.migrated()
        settings = settings_for(url, backend_url, setup_code=SETUP_CODE, **changes)
        server = LiveServer(create_app(settings, rhythm=rhythm, passwords=cheap_passwords()), send_buffer=send_buffer)
        server.start()
        site = Site(server.url, url.removeprefix("sqlite:///"), backend)
        opened.append((site, server))
        return site

    yield open_one
    for site, server in opened:
        site.close()
        server.stop()


@pytest.fixture
def site(open_site: OpenSite) -> Site:
    return open_site()


@pytest.fixture
def mina(site: Site) -> Visitor:
    """The operator."""
    return site.set_up()
