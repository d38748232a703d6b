"""What the app itself needs: its database, its data folder, Redis, and one account where caches are shared."""

import tempfile
from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread
from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from app.auth.shared_cache import enabled_accounts
from app.database import Database, check_revision
from app.doctor.findings import APP, Chart, marked
from app.errors import ConfigurationError
from app.settings import Settings

REDIS_PATIENCE_S = 2.0
_PROBE_KEY = "recount:probe"
_PROBE_LIFE_MS = 1000


async def examine_household(settings: Settings, seconds: float) -> Chart:
    chart = Chart(APP)
    await _within(chart, "database", seconds, lambda: _database(chart, settings))
    await anyio.to_thread.run_sync(_data_folder, chart, settings)
    if settings.redis_url is not None:
        await _within(chart, "redis", seconds, lambda: _redis(chart, settings.redis_url or ""))
    return chart


async def _within(chart: Chart, check: str, seconds: float, probe: Callable[[], Awaitable[None]]) -> None:
    try:
        with anyio.fail_after(seconds):
            await probe()
    except TimeoutError:
        message, advice = marked("No answer within %(seconds)s s."), marked("Look whether it runs and is reachable.")
        chart.fail(check, message, advice, seconds=f"{seconds:g}")


async def _database(chart: Chart, settings: Settings) -> None:
    url = settings.resolved_database_url()
    try:
        await anyio.to_thread.run_sync(check_revision, url, abandon_on_cancel=True)
    except ConfigurationError as error:
        advice = marked("Correct RECOUNT_DATABASE_URL, or run recount migrate.")
        chart.fail("database", marked("It cannot be used: %(reason)s"), advice, reason=error.message)
        return
    chart.ok("database", marked("It is there, at the revision of this version."))
    if any(backend.isolation == "none" for backend in settings.resolved_backends()):
        await _sharing(chart, settings, url)


async def _sharing(chart: Chart, settings: Settings, url: str) -> None:
    database = Database(url, pool_size=1)
    try:
        async with database.read() as session:
            accounts = await enabled_accounts(session)
    except SQLAlchemyError as error:
        advice = marked("Look into the log of the database.")
        chart.fail("sharing", marked("It cannot be used: %(reason)s"), advice, reason=type(error).__name__)
        return
    finally:
        await database.close()
    names = ", ".join(backend.name for backend in settings.resolved_backends() if backend.isolation == "none")
    if accounts <= 1:
        chart.ok("sharing", marked("%(names)s shares its cache, and there is one account."), names=names)
    elif settings.allow_shared_cache:
        chart.warn(
            "sharing",
            marked("%(accounts)s accounts share the cache of %(names)s: its speed tells what others have asked."),
            marked("That is allowed by RECOUNT_ALLOW_SHARED_CACHE."),
            accounts=accounts,
            names=names,
        )
    else:
        chart.fail(
            "sharing",
            marked("%(accounts)s accounts share the cache of %(names)s: its speed tells what others have asked."),
            marked("Disable all but one, use a backend with isolation, or set RECOUNT_ALLOW_SHARED_CACHE."),
            accounts=accounts,
            names=names,
        )


def _data_folder(chart: Chart, settings: Settings) -> None:
    folder = settings.data_dir
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        chart.fail(
            "data folder",
            marked("%(folder)s cannot be written: %(reason)s."),
            marked("Give it to the account that runs this, or set RECOUNT_DATA_DIR."),
            folder=str(folder),
            reason=error.strerror or type(error).__name__,
        )
    else:
        chart.ok("data folder", marked("%(folder)s can be written."), folder=str(folder))


async def _redis(chart: Chart, url: str) -> None:
    redis = Redis.from_url(url, socket_timeout=REDIS_PATIENCE_S, socket_connect_timeout=REDIS_PATIENCE_S)
    try:
        await redis.set(_PROBE_KEY, "", px=_PROBE_LIFE_MS)
    except (RedisError, OSError) as error:
        chart.fail(
            "redis",
            marked("It does not take a write: %(reason)s."),
            marked("Start it, or correct RECOUNT_REDIS_URL."),
            reason=type(error).__name__,
        )
    else:
        chart.ok("redis", marked("It takes writes."))
    finally:
        await redis.aclose()
