"""How much the database holds: rows by table, bytes, and its oldest turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.database import Database
from app.models import Turn


@dataclass(frozen=True, slots=True)
class TableSize:
    """`bytes` with its indexes; None where the database does not say it by table."""

    name: str
    rows: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Storage:
    """`bytes` of the whole database, with room that is free in it."""

    tables: Sequence[TableSize]
    bytes: int
    oldest_turn_at: datetime | None


class Storages:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def measure(self) -> Storage:
        async with self._database.read() as session:
            on_postgres = session.get_bind().dialect.name == "postgresql"
            tables = [
                TableSize(
                    table.name,
                    await session.scalar(select(func.count()).select_from(table)) or 0,
                    await _postgres_table(session, table.name) if on_postgres else None,
                )
                for table in sorted(Turn.metadata.tables.values(), key=lambda table: table.name)
            ]
            size = await (_postgres(session) if on_postgres else _sqlite(session))
            oldest = await session.scalar(select(func.min(Turn.created_at)))
        return Storage(tables, size, oldest)


async def _postgres_table(session: AsyncSession, name: str) -> int:
    # The name becomes an identifier, whatever it is: a table may have one that SQL knows as a word.
    return int(await session.scalar(select(func.pg_total_relation_size(func.quote_ident(name)))) or 0)


async def _postgres(session: AsyncSession) -> int:
    return int(await session.scalar(select(func.pg_database_size(func.current_database()))) or 0)


async def _sqlite(session: AsyncSession) -> int:
    pages = await session.scalar(text("PRAGMA page_count"))
    return int(pages or 0) * int(await session.scalar(text("PRAGMA page_size")) or 0)
