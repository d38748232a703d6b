"""``recount export``: what people can download themselves, written by whoever is at the console."""

import asyncio
import errno
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

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
        path.write_bytes(file.content)

    def close(self) -> None:
        return


class _ZipArchive:
    """Takes them into a new archive."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._archive = Archive(utc_now())

    def take(self, file: ExportedFile) -> None:
        self._append(self._archive.add(file.name, file.content))

    def close(self) -> None:
        self._append(self._archive.end())

    def _append(self, piece: bytes) -> None:
        with self._path.open("ab") as out:
            out.write(piece)


def export_account(settings: Settings, name: str, target: Path) -> None:
    """Everything of this account into a new zip archive, or into a folder that is there.

    It comes there as a whole or not at all. ConfigurationError for an unknown name, and for a file that is there
    already or cannot be written.
    """
    url = settings.resolved_database_url()
    check_revision(url)
    try:
        count = asyncio.run(_export(url, name, target))
    except OSError as error:
        # Of anything but a file in the way the error names a place that is not the caller's.
        place = error.filename if isinstance(error, FileExistsError) else target
        raise ConfigurationError(f"{place} cannot be written: {error.strerror}.") from error
    click.echo(f"Wrote {count} conversation{'' if count == 1 else 's'} of {name} to {target}.")


async def _export(url: str, name: str, target: Path) -> int:
    """How many conversations there are in it. Nothing is made for a name that nobody has."""
    database = Database(url)
    try:
        async with database.read() as session:
            owner_id = await session.scalar(select(User.id).where(User.name_key == name_key(name)))
        if owner_id is None:
            raise ConfigurationError(f"There is no account {name}.")
        exports = Exports(database, utc_now, await instance_secret(database))
        with _placed_when_whole(target) as written:
            count = -1  # The profile is no conversation.
            async for file in exports.everything_for_console(owner_id):
                written.take(file)
                count += 1
        return count
    finally:
        await database.close()


@contextmanager
def _placed_when_whole(target: Path) -> Iterator[_Folder | _ZipArchive]:
    """Written on the same disk, so that a rename places it. What failed leaves nothing behind."""
    home = target if target.is_dir() else target.parent
    with TemporaryDirectory(prefix=".recount-export-", dir=home) as draft:
        if home != target:
            _expect_room(target)
        with closing(_Folder(Path(draft)) if home == target else _ZipArchive(Path(draft, target.name))) as written:
            yield written
        files = [path for path in sorted(Path(draft).rglob("*")) if path.is_file()]
        places = [home / path.relative_to(draft) for path in files]
        _expect_room(*places)
        for path, place in zip(files, places, strict=True):
            place.parent.mkdir(exist_ok=True)
            path.rename(place)


def _expect_room(*places: Path) -> None:
    """A rename would put itself in the place of a file that is there."""
    for place in places:
        if place.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
