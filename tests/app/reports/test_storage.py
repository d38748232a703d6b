from uuid import UUID

import pytest

from app.house import House
from app.models import Turn
from tests.app.houses import START, ask

pytestmark = pytest.mark.anyio


async def test_every_table_is_measured(house: House, anna: UUID) -> None:
    assert (await house.storages.measure()).oldest_turn_at is None
    await ask(house, anna)
    storage = await house.storages.measure()
    assert {table.name for table in storage.tables} == set(Turn.metadata.tables)
    rows = {table.name: table.rows for table in storage.tables}
    assert (rows["turns"], rows["messages"], rows["users"]) == (1, 2, 1)
    assert storage.oldest_turn_at == START
    assert storage.bytes > 0
    sizes = {table.name: table.bytes for table in storage.tables}
    if house.settings.resolved_database_url().startswith("postgresql"):
        assert all(size is not None and 0 < size < storage.bytes for size in sizes.values())
    else:
        assert set(sizes.values()) == {None}
