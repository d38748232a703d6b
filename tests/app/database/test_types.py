from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import select
from sqlalchemy.exc import StatementError

from app.database import Database
from app.database.types import new_id
from app.models import ServingEvent

pytestmark = pytest.mark.anyio

INSTANTS = [
    datetime(2026, 3, 1, 13, 30, 45, 123456, tzinfo=timezone(timedelta(hours=-8))),
    datetime(2026, 3, 1, 0, 0, tzinfo=timezone(timedelta(hours=9))),
    datetime(2026, 3, 1, 23, 59, tzinfo=UTC),
]


async def test_instants_come_back_equal_aware_and_in_utc(database: Database) -> None:
    async with database.write() as session:
        session.add_all(ServingEvent(kind="test", detail=str(n), at=at) for n, at in enumerate(INSTANTS))
    async with database.read() as session:
        stored = list(await session.scalars(select(ServingEvent.at).order_by(ServingEvent.detail)))
        in_order = list(await session.scalars(select(ServingEvent.at).order_by(ServingEvent.at)))
        newer = await session.scalars(select(ServingEvent.detail).where(ServingEvent.at > INSTANTS[0]))
    assert stored == INSTANTS
    assert all(instant.tzinfo is UTC for instant in stored)
    assert in_order == sorted(INSTANTS)
    assert list(newer) == ["2"]


async def test_naive_instants_are_refused(database: Database) -> None:
    with pytest.raises(StatementError, match="naive"):
        async with database.write() as session:
            session.add(ServingEvent(kind="test", at=datetime(2026, 3, 1)))  # noqa: DTZ001 - the point


def test_ids_sort_by_age() -> None:
    ids = [new_id() for _ in range(1000)]
    assert ids == sorted(ids)
    assert {id_.version for id_ in ids} == {7}
