"""Short units of work: a session lives inside one `read()` or `write()` and nowhere else.

No caller may wait for the model or for a client inside one. A caller whose cancel scope is cancelled
finishes the one it is in: a driver that is cut off in the middle can leave its transaction open, and
SQLite then stays locked. `Task.cancel` goes through this shield, so nothing of ours uses it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CancelScope
from sqlalchemy import Pool, QueuePool
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker

from app.database.engine import make_engine


class Database:
    """One engine. Rows stay readable after the unit of work; they never load more."""

    def __init__(self, url: str, *, pool_size: int = 5) -> None:
        self._engine = make_engine(url, pool_size=pool_size)
        reading = self._engine
        if reading.dialect.name == "postgresql":
            # Its default shows each statement of a transaction another state. SQLite's transactions see one.
            reading = reading.execution_options(isolation_level="REPEATABLE READ")
        self._reads = async_sessionmaker(reading, expire_on_commit=False)
        self._writes = async_sessionmaker(self._engine.execution_options(write=True), expire_on_commit=False)

    @property
    def pool(self) -> Pool:
        return self._engine.sync_engine.pool

    def pool_use(self) -> dict[str, int]:
        """Connections that are in use, and open ones that wait for it."""
        pool = self.pool
        assert isinstance(pool, QueuePool)
        return {"in_use": pool.checkedout(), "idle": pool.checkedin()}

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """One transaction that sees one state and writes nothing."""
        with CancelScope(shield=True):
            async with self._reads() as session, session.begin():
                yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """One transaction, committed at the end, rolled back on an exception."""
        with CancelScope(shield=True):
            async with self._writes() as session, session.begin():
                yield session

    async def close(self) -> None:
        await self._engine.dispose()
