"""One site for all tests that only look at the figures of a bad day."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from app.web.application import create_app
from tests.app.conftest import Stage
from tests.app.databases import SqliteFactory
from tests.app.houses import settings_for
from tests.app.web.operator.bad_day import write_bad_day
from tests.app.web.site import SETUP_CODE, Site
from tests.app.web.visitor import Visitor
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend


@pytest.fixture(scope="package")
def bad_site(sqlite_factory: SqliteFactory, stage: tuple[Stage, str]) -> Iterator[Site]:
    url = sqlite_factory.migrated()
    stage[0].backend = ScriptedBackend()
    settings = settings_for(url, stage[1], setup_code=SETUP_CODE)
    with LiveServer(create_app(settings)) as server:
        site = Site(server.url, url.removeprefix("sqlite:///"), stage[0].backend)
        yield site
        site.close()


@pytest.fixture(scope="package")
def bad(bad_site: Site) -> Visitor:
    """The operator, with a bad day behind her."""
    mina = bad_site.set_up()
    write_bad_day(bad_site.database_file, datetime.now(UTC))
    return mina


@pytest.fixture(scope="package")
def bad_in_korean(bad_site: Site, bad: Visitor) -> Visitor:
    """She again, with another browser."""
    visitor = bad_site.visitor("ko")
    visitor.client.cookies.update(bad.client.cookies)
    return visitor
