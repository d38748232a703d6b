"""Engines for the two databases. Nothing here knows tables.

None of them puts the values of a failed statement into its error: errors are logged, messages must not be.
"""

from typing import Any

from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.database.search_key import add_to_sqlite
from app.errors import ConfigurationError

BUSY_TIMEOUT_MS = 5_000
STATEMENT_TIMEOUT_MS = 15_000


def parse_url(url: str) -> URL:
    """The URL without a driver. ConfigurationError unless it is SQLite in a file or PostgreSQL."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # A port that is no number is a ValueError.
        raise ConfigurationError("RECOUNT_DATABASE_URL is not a database URL.") from None
    family = parsed.get_backend_name()
    if family not in ("sqlite", "postgresql"):
        raise ConfigurationError(f"RECOUNT_DATABASE_URL: {family} is neither sqlite nor postgresql.")
    if family == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigurationError("RECOUNT_DATABASE_URL: SQLite needs a file.")
    return parsed.set(drivername=family)


def make_engine(url: str, *, pool_size: int) -> AsyncEngine:
    """An async engine whose transactions start as the option `write` of a connection says."""
    parsed = parse_url(url)
    if parsed.drivername == "sqlite":
        return _make_sqlite(parsed, pool_size)
    return create_async_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS}", "connect_timeout": 5},
    )


def _make_sqlite(url: URL, pool_size: int) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="sqlite+aiosqlite"),
        pool_size=pool_size,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000},
    )
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver must not begin transactions by itself: _begin_sqlite does.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"busy_timeout={BUSY_TIMEOUT_MS}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
    add_to_sqlite(connection)


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later cannot wait for another writer; it fails at
    # once. So a writing one takes the lock at its start.
    write = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
