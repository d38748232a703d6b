"""Migrated databases of both kinds, made from a template or emptied for the next test."""

import itertools
import shutil
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from app.database import migrate
from app.models import User


class SqliteFactory:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._template = folder / "template.db"
        migrate(f"sqlite:///{self._template}")

    def empty(self) -> str:
        """A database that nobody has migrated yet."""
        return f"sqlite:///{self._folder / f'{next(self._numbers)}.db'}"

    def migrated(self) -> str:
        url = self.empty()
        shutil.copy(self._template, url.removeprefix("sqlite:///"))
        return url

    def recycle(self, url: str) -> None:
        Path(url.removeprefix("sqlite:///")).unlink()


class PostgresFactory:
    def __init__(self, server_url: str) -> None:
        self._server_url = server_url
        self._numbers = itertools.count(1)
        self._clean: list[str] = []

    def empty(self) -> str:
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self._server_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return make_url(self._server_url).set(database=name).render_as_string(hide_password=False)

    def migrated(self) -> str:
        if self._clean:
            return self._clean.pop()
        url = self.empty()
        migrate(url)
        return url

    def recycle(self, url: str) -> None:
        """To be called only when the schema is as it was."""
        tables = ", ".join(table.name for table in User.metadata.sorted_tables)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"TRUNCATE {tables}")
        self._clean.append(url)


DatabaseFactory = SqliteFactory | PostgresFactory
