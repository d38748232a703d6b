"""No error of a statement says what the statement was to store."""

import pytest
from sqlalchemy.exc import DBAPIError

from app.database import Database
from app.models import StoredSetting
from tests.app.database.test_migration import run, transaction
from tests.app.databases import DatabaseFactory

pytestmark = pytest.mark.anyio

SQLITE = ["CREATE TRIGGER refuse BEFORE INSERT ON settings BEGIN SELECT RAISE(ABORT, 'refused'); END"]
POSTGRESQL = [
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $$refused$$; END'",
    "CREATE TRIGGER refuse BEFORE INSERT ON settings FOR EACH ROW EXECUTE FUNCTION refuse()",
]


@pytest.fixture
def refusing_url(databases: DatabaseFactory) -> str:
    """A database that stores no setting; it is not used again."""
    url = databases.migrated()
    with transaction(url) as session:
        for statement in SQLITE if url.startswith("sqlite") else POSTGRESQL:
            run(session, statement)
    return url


async def test_errors_of_units_of_work_have_no_values(refusing_url: str) -> None:
    database = Database(refusing_url)
    with pytest.raises(DBAPIError, match="refused") as caught:
        async with database.write() as session:
            session.add(StoredSetting(key="key", value="private text"))
    assert "private" not in str(caught.value)
    await database.close()
