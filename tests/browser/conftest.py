"""A real Chromium against the whole app. Nothing here is skipped: without Chromium the tests fail.

Every page is watched: a violated content policy, an uncaught error or a request to another host fails the test.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright
from starlette.applications import Starlette

from app.database import migrate
from app.web.application import create_app
from tests.app.houses import PATIENT, cheap_passwords, settings_for
from tests.app.web.site import SETUP_CODE, Site
from tests.app.web.visitor import Visitor
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
COLLECT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error("CSP " + event.violatedDirective + " " + event.blockedURI);
});
"""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.fail(f"{CHROMIUM} is missing; install Debian's package `chromium`, or set CHROMIUM.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@dataclass(frozen=True)
class Beginning:
    """What every site begins with, made once: a database without an account, and one that has the operator."""

    empty: Path
    used: Path
    cookies: dict[str, str]

    def let_in(self, database_file: str) -> None:
        """Puts the operator and the session of these cookies into a database that has no account yet."""
        with closing(sqlite3.connect(database_file, timeout=60)) as connection, connection:
            connection.execute("ATTACH ? AS used", (str(self.used),))
            for table in ("users", "sessions", "audit_log", "settings"):
                connection.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM used.{table}")  # noqa: S608


@pytest.fixture(scope="session")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Beginning:
    folder = tmp_path_factory.mktemp("beginning")
    empty, used = folder / "empty.db", folder / "used.db"
    migrate(f"sqlite:///{empty}")
    with running_site(used, ScriptedBackend()) as site:
        cookies = dict(site.set_up().client.cookies)
    return Beginning(empty, used, cookies)


@dataclass
class RunningSite(Site):
    """A site whose app can be stopped and started again on the same port and database."""

    server: LiveServer = field(kw_only=True)
    backend_url: str = field(kw_only=True)
    beginning: Beginning | None = field(default=None, kw_only=True)

    def restart(self, **changes: object) -> None:
        """With these changes to its settings."""
        port = self.server.port
        self.server.stop()
        self.server = LiveServer(app_on(self.database_file, self.backend_url, **changes), port=port)
        self.server.start()

    def set_up(self, language: str = "en", name: str = "mina") -> Visitor:
        """The operator, signed in. The form and the password's hash take their time once, for all sites together."""
        if self.beginning is None:
            return super().set_up(language, name)
        self.beginning.let_in(self.database_file)
        visitor = self.visitor(language)
        visitor.client.cookies.update(self.beginning.cookies)
        return visitor


def app_on(database_file: str, backend_url: str, **changes: object) -> Starlette:
    settings = settings_for(f"sqlite:///{database_file}", backend_url, setup_code=SETUP_CODE, **changes)
    return create_app(settings, rhythm=PATIENT, passwords=cheap_passwords())


@contextmanager
def running_site(
    path: Path, backend: ScriptedBackend, beginning: Beginning | None = None, **changes: object
) -> Iterator[RunningSite]:
    """On a new database in this file, with these changes to its settings."""
    database_file = str(path)
    if beginning is None:
        migrate(f"sqlite:///{database_file}")
    else:
        shutil.copy(beginning.empty, path)
    with LiveServer(backend) as backend_server:
        server = LiveServer(app_on(database_file, backend_server.url, **changes))
        server.start()
        site = RunningSite(
            server.url, database_file, backend, server=server, backend_url=backend_server.url, beginning=beginning
        )
        try:
            yield site
        finally:
            site.close()
            site.server.stop()


@pytest.fixture
def site(tmp_path: Path, backend: ScriptedBackend, beginning: Beginning) -> Iterator[RunningSite]:
    with running_site(tmp_path / "recount.db", backend, beginning) as site:
        yield site


@dataclass
class Watch:
    """What must not happen in any page of the sites at these addresses."""

    urls: tuple[str, ...]
    complaints: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.add_init_script(COLLECT_VIOLATIONS)
        context.on("page", self._over_page)
        context.on("request", self._on_request)

    def _over_page(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: self._on_console(message.text))

    def _on_console(self, text: str) -> None:
        if "CSP" in text or "Content Security Policy" in text:
            self.complaints.append(text)

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((*self.urls, "data:")):
            self.complaints.append(f"request to {request.url}")


@pytest.fixture
def watch(site: RunningSite) -> Iterator[Watch]:
    watch = Watch((site.url,))
    yield watch
    assert watch.complaints == []


@pytest.fixture
def context(chromium: Browser, site: RunningSite, watch: Watch) -> Iterator[BrowserContext]:
    context = chromium.new_context(base_url=site.url, locale="en-US", timezone_id="Asia/Seoul")
    context.set_default_timeout(10_000)
    watch.over(context)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def signed_in(site: RunningSite, context: BrowserContext) -> BrowserContext:
    """The operator's session, without the screens that lead to it."""
    adopt_session(site, context)
    return context


def adopt_session(site: RunningSite, context: BrowserContext) -> None:
    visitor = site.set_up()
    context.add_cookies(
        [{"name": name, "value": value, "url": site.url} for name, value in visitor.client.cookies.items()]
    )
