"""The whole app behind a real socket, with a scripted model server behind it."""

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from argon2 import PasswordHasher

from app.auth.names import name_key
from tests.app.web.visitor import Visitor
from tests.scripted_backend import ScriptedBackend

SETUP_CODE = "code-for-tests"
PASSWORD = "a long enough password"


@dataclass
class Site:
    url: str
    database_file: str
    backend: ScriptedBackend
    visitors: list[Visitor] = field(default_factory=list)

    def visitor(self, language: str = "en") -> Visitor:
        self.visitors.append(Visitor(self.url, language))
        return self.visitors[-1]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What the database has; what the statement changes is kept."""
        with closing(sqlite3.connect(self.database_file)) as connection, connection:
            return connection.execute(statement).fetchall()

    def count(self, table: str) -> int:
        found: int = self.rows(f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608 - a table's name, from a test
        return found

    def close(self) -> None:
        for visitor in self.visitors:
            visitor.client.close()

    def set_up(self, language: str = "en", name: str = "mina") -> Visitor:
        """The operator, signed in."""
        visitor = self.visitor(language)
        visitor.open(f"/setup?code={SETUP_CODE}")
        response = visitor.submit("/setup", name=name, password=PASSWORD)
        assert response.status_code == 303, response.text
        return visitor

    def user(self, name: str, language: str = "en") -> Visitor:
        """A user who is no operator, signed in. The password's hash is a cheap one, to save time."""
        cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
        with sqlite3.connect(self.database_file) as connection:
            connection.execute(
                "INSERT INTO users (id, name, name_key, password_hash, role, created_at)"
                " VALUES (?, ?, ?, ?, 'user', '2026-01-01 00:00:00.000000')",
                (UUID(int=time.time_ns()).hex, name, name_key(name), cheap),
            )
        connection.close()
        visitor = self.visitor(language)
        visitor.open("/sign-in")
        response = visitor.submit("/sign-in", name=name, password=PASSWORD)
        assert response.status_code == 303, response.text
        return visitor

    def ask(self, visitor: Visitor, text: str, path: str = "/") -> str:
        """Sends in the browser without script and waits for the end; the path of the conversation."""
        visitor.open(path)
        visitor.submit("/conversations" if path == "/" else f"{path}/messages", text=text)
        self.wait_idle(visitor)
        return visitor.page.request.url.path

    def wait_idle(self, visitor: Visitor) -> None:
        """Reloads, as the page without script does, until no answer is running."""
        path = visitor.page.request.url.path
        for _ in range(400):
            if 'http-equiv="refresh"' not in visitor.page.text:
                return
            time.sleep(0.025)
            visitor.open(path)
        raise TimeoutError("the answer is still running")
