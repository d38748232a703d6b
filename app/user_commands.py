"""``recount user create | disable | enable | reset-password``: accounts from the console, without a running server.

A password comes from a prompt, or from standard input where that is no terminal; never from an argument, which
every process on the host can read.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import click

from app.auth import Accounts, NewAccount, People
from app.auth.passwords import Passwords
from app.auth.sign_in_limits import SignInLimits
from app.clock import utc_now
from app.database import Database, check_revision
from app.errors import ConfigurationError, RecountError
from app.settings import Settings


class TurnsElsewhere:
    """No turn runs in this process. Those that do run see in SQL that they are to stop, within seconds."""

    async def stop_all_of(self, owner_id: UUID) -> None:
        return


@click.command()
@click.argument("name")
@click.option("--operator", is_flag=True, help="One who may operate this server.")
@click.pass_obj
def create(settings: Settings, name: str, *, operator: bool) -> None:
    """Make an account called NAME; its password is asked for."""
    new = NewAccount(name, _typed_password())
    _on_people(settings, lambda people: people.create(new, "operator" if operator else "user"))
    click.echo(f"Made {name}.")


@click.command()
@click.argument("name")
@click.pass_obj
def disable(settings: Settings, name: str) -> None:
    """End NAME's sessions and answers, and let nobody sign in with it."""

    async def action(people: People) -> None:
        await people.disable(None, await people.id_of(name))

    _on_people(settings, action)
    click.echo(f"Disabled {name}.")


@click.command()
@click.argument("name")
@click.pass_obj
def enable(settings: Settings, name: str) -> None:
    """Let NAME sign in again."""

    async def action(people: People) -> None:
        await people.enable(None, await people.id_of(name))

    _on_people(settings, action)
    click.echo(f"Enabled {name}.")


@click.command()
@click.argument("name")
@click.pass_obj
def reset_password(settings: Settings, name: str) -> None:
    """Give NAME a new password, which is asked for, and end its sessions."""
    new = _typed_password()

    async def action(people: People) -> None:
        await people.set_password(await people.id_of(name), new)

    _on_people(settings, action)
    click.echo(f"Changed the password of {name}.")


USER_COMMANDS = (create, disable, enable, reset_password)


def _on_people(settings: Settings, action: Callable[[People], Awaitable[object]]) -> None:
    """ConfigurationError with what was wrong: the console shows one line for it."""
    check_revision(settings.resolved_database_url())
    try:
        asyncio.run(_run(settings, action))
    except RecountError as error:
        raise ConfigurationError(error.message) from error


async def _run(settings: Settings, action: Callable[[People], Awaitable[object]]) -> None:
    async with _people_of(settings) as people:
        await action(people)


@asynccontextmanager
async def _people_of(settings: Settings) -> AsyncIterator[People]:
    database, passwords = Database(settings.resolved_database_url()), Passwords()
    # Who is at the console need not prove more, so no tries are counted.
    accounts = Accounts(database, utc_now, passwords, SignInLimits(None))
    try:
        only_one = settings.only_one_account
        yield People(database, utc_now, passwords, accounts, TurnsElsewhere(), only_one_account=only_one)
    finally:
        await database.close()


def _typed_password() -> str:
    if sys.stdin.isatty():
        password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return password
    return sys.stdin.readline().rstrip("\r\n")
