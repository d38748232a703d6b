"""Two reads that run beside each other."""

import anyio
import pytest
from sqlalchemy import func, select

from app.database import Database
from app.reports.beside import beside

pytestmark = pytest.mark.anyio


async def test_both_run_at_once_and_each_gives_what_it_found() -> None:
    met = [anyio.Event(), anyio.Event()]

    async def first() -> int:
        met[0].set()
        await met[1].wait()
        return 1

    async def second() -> str:
        met[1].set()
        await met[0].wait()
        return "two"

    with anyio.fail_after(10):
        assert await beside(first, second) == (1, "two")


async def test_a_read_that_fails_leaves_no_connection_in_use(database: Database) -> None:
    is_reading = anyio.Event()

    async def reading() -> int | None:
        async with database.read() as session:
            is_reading.set()
            return await session.scalar(select(func.count()))

    async def failing() -> None:
        await is_reading.wait()
        raise LookupError

    with pytest.raises(ExceptionGroup) as raised:
        await beside(reading, failing)
    assert raised.group_contains(LookupError)
    assert database.pool_use()["in_use"] == 0
