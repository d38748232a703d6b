"""``recount export``: what people can download themselves, written by whoever is at the console."""

import asyncio
from pathlib import Path

import click
from sqlalchemy import select

from app.auth.names import name_key
from app.clock import utc_now
from app.conversations.archive import Archive
from app.conversations.exporting import ExportedFile, Exports
from app.database import Database, check_revision
from app.errors import ConfigurationError
from app.instance_secret import instance_secret
from app.models import User
from app.settings import Settings


class _Folder:
    """Takes the files as they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, file: ExportedFile) -> None:
        path = self._folder / file.name
        path.parent.mkdir(exist_ok=True)
        with path.open("xb") as out:
            out.write(file.content)

    def end(self) -> None:
        return


class _ZipArchive:
    """Takes them into a new archive."""

    def __init__(self, path: Path) -> None:
        self._out = path.open("xb")
        self._archive = Archive(utc_now())

    def take(self, file: ExportedFile) -> None:
        self._out.write(self._archive.add(file.name, file.content))

    def end(self) -> None:
        with self._out:
            self._out.write(self._archive.end())


def export_account(settings: Settings, name: str, target: Path) -> None:
    """Everything of this account into a new zip archive, or into a folder that is there.

    ConfigurationError for an unknown name, and for a file that is there already or cannot be written.
    """
    url = settings.resolved_database_url()
    check_revision(url)
    try:
        count = asyncio.run(_export(url, name, _Folder if target.is_dir() else _ZipArchive, target))
    except OSError as error:
        raise ConfigurationError(f"{error.filename or target} cannot be written: {error.strerror}.") from error
    click.echo(f"Wrote {count} conversation{'' if count == 1 else 's'} of {name} to {target}.")


async def _export(url: str, name: str, kind: type[_Folder | _ZipArchive], target: Path) -> int:
    """How many conversations there are in it. Nothing is made for a name that nobody has."""
    database = Database(url)
    try:
        async with database.read() as session:
            owner_id = await session.scalar(select(User.id).where(User.name_key == name_key(name)))
        if owner_id is None:
            raise ConfigurationError(f"There is no account {name}.")
        exports = Exports(database, utc_now, await instance_secret(database))
        written, count = kind(target), -1  # The profile is no conversation.
        async for file in exports.everything_for_console(owner_id):
            written.take(file)
            count += 1
        written.end()
        return count
    finally:
        await database.close()
