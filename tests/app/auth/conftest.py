"""The services of accounts on each kind of database."""

from uuid import UUID

import pytest

from app.database import Database
from tests.app.auth.persons import Office
from tests.app.houses import MovingClock


@pytest.fixture
def office(database: Database, clock: MovingClock) -> Office:
    return Office(database, clock)


@pytest.fixture
async def mina(office: Office) -> UUID:
    """The operator."""
    return await office.add("Mina", "operator")


@pytest.fixture
async def jun(office: Office) -> UUID:
    return await office.add("Jun")
