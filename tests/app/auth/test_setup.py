import anyio
import pytest
from sqlalchemy import select

from app.auth import Account, Setup
from app.database import Database
from app.errors import InvalidInput, NotAllowed
from app.models import AuditEntry, User
from tests.app.auth.test_accounts import accounts_on
from tests.app.houses import MovingClock, cheap_passwords

pytestmark = pytest.mark.anyio


def setup_on(database: Database, code: str | None = "code") -> Setup:
    return Setup(database, MovingClock(), cheap_passwords(), code)


async def test_the_first_account_is_an_operator_and_can_sign_in(database: Database) -> None:
    setup = setup_on(database)
    assert await setup.needed()
    account = await setup.create_first_account(" code ", " Anna ", "long enough", "ko", "Asia/Seoul")
    assert account == Account(account.id, "Anna", "operator", "ko", "Asia/Seoul")
    assert not await setup.needed()
    assert await accounts_on(database).sign_in("anna", "long enough", "1.2.3.4") == account
    async with database.read() as session:
        actions = list(await session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))
    assert actions == ["setup", "sign_in"]


async def test_a_second_first_account_is_refused(database: Database) -> None:
    setup = setup_on(database)
    await setup.create_first_account("code", "Anna", "long enough")
    with pytest.raises(NotAllowed):
        await setup.create_first_account("code", "Berta", "long enough")


async def test_of_two_at_the_same_time_one_wins(database: Database) -> None:
    won: list[Account] = []
    lost: list[NotAllowed] = []

    async def create(setup: Setup, name: str) -> None:
        try:
            won.append(await setup.create_first_account("code", name, "long enough"))
        except NotAllowed as refused:
            lost.append(refused)

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(create, setup_on(database), f"User {number}")
    assert (len(won), len(lost)) == (1, 4)
    async with database.read() as session:
        assert len(list(await session.scalars(select(User)))) == 1


@pytest.mark.parametrize(
    ("values", "field"),
    [
        (("wrong", "Anna", "long enough"), "code"),
        (("", "Anna", "long enough"), "code"),
        (("\ud800", "Anna", "long enough"), "code"),
        (("code", " ", "long enough"), "name"),
        (("code", "Anna", "short"), "password"),
    ],
)
async def test_unusable_values_are_refused(database: Database, values: tuple[str, str, str], field: str) -> None:
    setup = setup_on(database)
    with pytest.raises(InvalidInput) as caught:
        await setup.create_first_account(*values)
    assert caught.value.field == field
    assert await setup.needed()


async def test_a_zone_that_nobody_knows_is_left_out(database: Database) -> None:
    account = await setup_on(database).create_first_account("code", "Anna", "long enough", "", "No/Where")
    assert (account.locale, account.time_zone) == (None, None)


async def test_each_process_makes_its_own_code(database: Database) -> None:
    first, second = setup_on(database, None), setup_on(database, None)
    assert await first.code() == await first.code() != await second.code()
    assert len(await first.code()) >= 16
