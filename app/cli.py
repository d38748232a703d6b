"""The command line: ``recount serve | app | infer | migrate | verify | doctor | export | user``.

What is wrong with a setting, a port, a file or the data folder ends the process with one line and exit code 1.
"""

import asyncio
import contextlib
import difflib
import os
import re
import secrets
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import click
import uvicorn
from pydantic import SecretStr, ValidationError
from pydantic_settings import SettingsError
from starlette.applications import Starlette

from app.database import Database, check_drift, check_revision, migrate, new_revision
from app.doctor_command import examine_and_report
from app.errors import ConfigurationError, NotFound
from app.export_command import export_account
from app.instance_secret import instance_secret
from app.logs import configure_logging
from app.settings import Settings
from app.supervisor import supervised_inference
from app.turns.rhythm import Rhythm
from app.user_commands import USER_COMMANDS
from app.verification import Findings, Verification
from app.web.application import create_app

GRACE_S = 10
"""How long open pages and streams may take to end after Ctrl-C or SIGTERM."""
KEEP_ALIVE_S = 75
"""Longer than a proxy keeps an idle connection, so that it is the proxy that closes it."""
_KEY_FILE = "inference.key"
WEB_NICENESS = 5
"""The web process gives way to the inference server, which needs the processor more steadily."""


@click.group()
def main() -> None:
    """A self-hosted chat app that shows, per turn, what the prefix cache saved."""
    os.umask(0o077)  # Conversations, password hashes and keys are for the account that runs this alone.


@main.command()
def serve() -> None:
    """Migrate, start and supervise the bundled inference server, then serve the web app."""
    with _one_line_for_errors():
        settings = _prepare(_read_settings())
        _report("Preparing the database")
        migrate(settings.resolved_database_url())
        with _bind(settings.host, settings.port, "RECOUNT") as listener:
            asyncio.run(_serve(settings, listener, with_inference=not settings.backends))


@main.command()
def app() -> None:
    """Serve the web app alone; its database must be migrated and its backends running."""
    with _one_line_for_errors():
        settings = _prepare(_read_settings())
        check_revision(settings.resolved_database_url())
        with _bind(settings.host, settings.port, "RECOUNT") as listener:
            asyncio.run(_serve(settings, listener, with_inference=False))


@main.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def infer(arguments: tuple[str, ...]) -> None:
    """Run the bundled inference server; flags go to ``python -m inference_server``."""
    with _one_line_for_errors():
        settings = _prepare(_read_settings())
        key = settings.inference_key
        os.environ.setdefault("RECOUNT_INFERENCE_KEY", key.get_secret_value() if key else "")
        os.execv(sys.executable, [sys.executable, "-m", "inference_server", *arguments])  # noqa: S606 - no shell


@main.command(name="migrate")
@click.option("--check", is_flag=True, help="Only say whether the migrations fit the models.")
@click.option("--new", metavar="MESSAGE", help="Write a revision with what the models have and the migrations lack.")
def migrate_command(*, check: bool, new: str | None) -> None:
    """Bring the database to this version's revision."""
    with _one_line_for_errors():
        if check or new:
            with _scratch_database() as url:
                if new:
                    new_revision(url, new)
                elif (difference := check_drift(url)) is not None:
                    raise ConfigurationError(difference)
        else:
            migrate(_prepare(_read_settings()).resolved_database_url())


@main.command()
@click.argument("conversation", required=False)
def verify(conversation: str | None) -> None:
    """Build every stored request again and compare it with what was sent; CONVERSATION is an id or a reference."""
    with _one_line_for_errors():
        settings = _prepare(_read_settings())
        check_revision(settings.resolved_database_url())
        findings = asyncio.run(_verified(settings.resolved_database_url(), conversation))
        click.echo(findings.summary())
        sys.exit(1 if findings.problems else 0)


async def _verified(url: str, conversation: str | None) -> Findings:
    """Prints each problem as it is found."""
    database = Database(url)
    total = Findings()
    try:
        verification = Verification(database, await instance_secret(database))
        async for findings in verification.conversations(conversation):
            for problem in findings.problems:
                click.echo(problem)
            total.add(findings)
    except NotFound as error:
        raise ConfigurationError(error.message) from None
    finally:
        await database.close()
    return total


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and no lines.")
@click.option("--timeout", default=60.0, show_default=True, type=click.FloatRange(1), help="Seconds for one answer.")
def doctor(*, as_json: bool, timeout: float) -> None:
    """Try the database and every backend, also while the app runs; exit code 1 where something failed."""
    with _one_line_for_errors():
        settings = _read_settings()
        kept = settings.data_dir / _KEY_FILE
        if settings.inference_key is None and kept.is_file():
            settings = settings.model_copy(update={"inference_key": SecretStr(_kept_key(kept))})
        sys.exit(1 if examine_and_report(settings, timeout, as_json=as_json).failed else 0)


@main.command()
@click.argument("name")
@click.argument("target", type=click.Path(path_type=Path))
def export(name: str, target: Path) -> None:
    """Write everything of the account NAME to TARGET: a new zip archive, or a folder that is there."""
    with _one_line_for_errors():
        export_account(_read_settings(), name, target)


@main.group(commands=USER_COMMANDS)
@click.pass_context
def user(context: click.Context) -> None:
    """Make, disable and enable accounts, and reset passwords."""
    context.with_resource(_one_line_for_errors())
    context.obj = _read_settings()


async def _serve(
    settings: Settings, listener: socket.socket, *, with_inference: bool, rhythm: Rhythm | None = None
) -> None:
    configure_logging()
    started = time.monotonic()
    async with AsyncExitStack() as stack:
        if with_inference:
            key = settings.inference_key
            assert key is not None, "the key is made before anything starts"
            address = stack.enter_context(_bind(settings.inference_host, settings.inference_port, "RECOUNT_INFERENCE"))
            settings = settings.model_copy(update={"inference_port": address.getsockname()[1]})
            await stack.enter_async_context(supervised_inference(settings, key.get_secret_value(), address, _report))
        application = create_app(settings, rhythm=rhythm)
        # Not uvicorn opens the house: it would tell what is wrong with the configuration in a traceback.
        await stack.enter_async_context(application.router.lifespan_context(application))
        os.nice(WEB_NICENESS)
        server = uvicorn.Server(
            uvicorn.Config(
                application,
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                server_header=False,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                ws="none",
                timeout_graceful_shutdown=GRACE_S,
            )
        )
        # uvicorn raises the signal that stopped it once more when it has ended. The house is closed and the inference
        # server is stopped after that, undisturbed.
        for stopping in (signal.SIGINT, signal.SIGTERM):
            signal.signal(stopping, signal.SIG_IGN)
        announcement = asyncio.create_task(_announce(server, application, settings, started))
        try:
            await server.serve(sockets=[listener])
        finally:
            announcement.cancel()
            _report("Stopping")


async def _announce(server: uvicorn.Server, application: Starlette, settings: Settings, started: float) -> None:
    """Print where the app is, once it answers; on a new installation, the link to the first account."""
    while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody when it has started
        await asyncio.sleep(0.05)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{server.servers[0].sockets[0].getsockname()[1]}"
    _report(f"Recount is ready after {time.monotonic() - started:.1f} s: {url}")
    setup = application.state.house.setup
    if await setup.needed():
        _report(f"Make the first account: {url}/setup?code={await setup.code()}")


def _prepare(settings: Settings) -> Settings:
    """Make the data folder, and the bundled server's key in it unless one is set."""
    folder = settings.data_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        key = settings.inference_key or SecretStr(_kept_key(folder / _KEY_FILE))
    except OSError as error:
        raise ConfigurationError(f"The data folder {folder} cannot be written: {error.strerror}.") from error
    return settings.model_copy(update={"inference_key": key})


def _kept_key(path: Path) -> str:
    """The key in this file, which only its owner may read; made on the first call."""
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32))
    return path.read_text().strip()


def _read_settings() -> Settings:
    known = {f"RECOUNT_{name.upper()}" for name in Settings.model_fields}
    for name in os.environ:
        if name.upper().startswith("RECOUNT_") and name.upper() not in known:
            close = difflib.get_close_matches(name.upper(), known, n=1)
            hint = f"; did you mean {close[0]}?" if close else "."
            raise ConfigurationError(f"There is no setting {name}{hint}")
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(step) for step in first["loc"])
        raise ConfigurationError(f"RECOUNT_{name.upper()}: {first['msg']}.") from error
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        name = f"RECOUNT_{field[1].upper()}" if field else "A setting"
        raise ConfigurationError(f"{name} must be JSON; docs/configuration.md shows how.") from error


def _bind(host: str, port: int, prefix: str) -> socket.socket:
    """Take an address, set by ``{prefix}_HOST`` and ``{prefix}_PORT``, before anything slow is started."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        where = f"{host} port {port} ({prefix}_HOST, {prefix}_PORT)"
        raise ConfigurationError(f"Cannot listen on {where}: {error.strerror or error}.") from error
    return listener


@contextmanager
def _scratch_database() -> Iterator[str]:
    """A new SQLite database at the newest revision."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/scratch.db"
        migrate(url)
        yield url


@contextmanager
def _one_line_for_errors() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(0)
    except ConfigurationError as error:
        if str(error):
            click.echo(f"recount: {error}", err=True)
        sys.exit(1)


def _report(line: str) -> None:
    click.echo(line, err=True)
