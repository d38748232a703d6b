"""One account only where caches are not kept apart."""

from uuid import UUID

import pytest

from app.auth import Invites, NewAccount, People
from app.auth.shared_cache import check_accounts
from app.auth.sign_in_limits import SignInLimits
from app.database import Database
from app.errors import ConfigurationError, Conflict
from app.house import open_house
from app.settings import Backend
from tests.app.auth.persons import REMOTE, Office
from tests.app.houses import QUICK, add_user, settings_for

pytestmark = pytest.mark.anyio

NEW = NewAccount("Berta", "another long one")


def strict_people(office: Office) -> People:
    return People(office.database, office.clock, office.passwords, office.accounts, office.turns, only_one_account=True)


def strict_invites(office: Office) -> Invites:
    limits = SignInLimits(None)
    return Invites(office.database, office.clock, office.passwords, office.accounts, limits, only_one_account=True)


async def test_a_second_account_is_refused_on_every_way(office: Office, mina: UUID) -> None:
    jun = await office.add("Jun")
    await office.people.disable(mina, jun)
    code = await office.invites.create(mina, "user", 7, "", REMOTE)
    people, invites = strict_people(office), strict_invites(office)
    with pytest.raises(Conflict, match="RECOUNT_ALLOW_SHARED_CACHE"):
        await invites.create(mina, "user", 7, "", REMOTE)
    with pytest.raises(Conflict):
        await invites.accept(code, NEW, REMOTE)
    with pytest.raises(Conflict):
        await people.create(NEW, "user")
    with pytest.raises(Conflict):
        await people.enable(mina, jun)
    assert (await office.user(jun)).disabled_at is not None
    assert [row.used_by for row in await office.invites.list()] == [None]
    assert len(await office.people.list()) == 2


async def test_the_first_account_is_made(office: Office) -> None:
    assert (await strict_people(office).create(NEW, "operator")).name == "Berta"


async def test_several_accounts_are_refused_at_start_but_deleted_and_disabled_ones(office: Office, mina: UUID) -> None:
    jun = await office.add("Jun")
    with pytest.raises(ConfigurationError, match="2 enabled accounts"):
        await check_accounts(office.database, only_one=True)
    await check_accounts(office.database, only_one=False)
    await office.people.disable(mina, jun)
    await check_accounts(office.database, only_one=True)


async def test_the_app_does_not_start_on_too_many(database: Database, database_url: str, backend_url: str) -> None:
    shared = Backend(name="shared", base_url=backend_url, isolation="none")
    for name in ("Anna", "Berta"):
        await add_user(database, name)
    with pytest.raises(ConfigurationError, match="recount user disable NAME") as refused:
        async with open_house(settings_for(database_url, backend_url, backends=(shared,)), rhythm=QUICK):
            raise AssertionError("it opened")
    assert "\n" not in refused.value.message
    allowed = settings_for(database_url, backend_url, backends=(shared,), allow_shared_cache=True)
    async with open_house(allowed, rhythm=QUICK) as house:
        assert len(await house.people.list()) == 2
