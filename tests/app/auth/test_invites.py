from uuid import UUID, uuid4

import anyio
import pytest
from sqlalchemy import select

from app.auth import Account, NewAccount
from app.errors import InvalidInput, NotFound, TooMany
from app.models import Invite, User
from tests.app.auth.persons import PASSWORD, REMOTE, Office

pytestmark = pytest.mark.anyio

NEW = NewAccount("Berta", "another long one", "ko", "Asia/Seoul")


async def test_an_invite_makes_one_account_with_its_role(office: Office, mina: UUID) -> None:
    code = await office.invites.create(mina, "user", 7, "", REMOTE)
    assert len(code) >= 43  # 256 bits.
    account = await office.invites.accept(f" {code} ", NEW, REMOTE)
    assert account == Account(account.id, "Berta", "user", "ko", "Asia/Seoul")
    assert await office.accounts.sign_in("berta", "another long one", REMOTE) == account
    with pytest.raises(NotFound):
        await office.invites.accept(code, NewAccount("Carla", "another long one"), REMOTE)
    lines = await office.audited()
    assert [(line[0], line[1]) for line in lines] == [
        ("invite_made", mina), ("invite_accepted", account.id), ("sign_in", account.id),
    ]  # fmt: skip
    assert {line[3] for line in lines} == {REMOTE}


async def test_the_code_itself_is_not_stored(office: Office, mina: UUID) -> None:
    code = await office.invites.create(mina, "user", 7, "", REMOTE)
    async with office.database.read() as session:
        row = (await session.scalars(select(Invite))).one()
    assert code not in {str(value) for value in vars(row).values()}


async def test_of_two_uses_at_the_same_time_one_wins(office: Office, mina: UUID) -> None:
    code = await office.invites.create(mina, "user", 7, "", REMOTE)
    won: list[Account] = []
    lost: list[NotFound] = []

    async def use(name: str) -> None:
        try:
            won.append(await office.invites.accept(code, NewAccount(name, "another long one"), REMOTE))
        except NotFound as refused:
            lost.append(refused)

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(use, f"User {number}")
    assert (len(won), len(lost)) == (1, 4)
    async with office.database.read() as session:
        assert {user.name for user in await session.scalars(select(User))} == {"Mina", won[0].name}
    assert [row.used_by for row in await office.invites.list()] == [won[0].name]


async def test_an_invite_ends_with_its_days_and_can_be_taken_back(office: Office, mina: UUID) -> None:
    ended = await office.invites.create(mina, "user", 1, "", REMOTE)
    office.clock.advance(days=1)
    assert not await office.invites.usable(ended)
    revoked = await office.invites.create(mina, "user", 1, "", REMOTE)
    assert await office.invites.usable(revoked)
    newest = (await office.invites.list())[0]
    await office.invites.revoke(mina, newest.id, REMOTE)
    for code in (ended, revoked, "", "nonsense", "\ud800"):
        assert not await office.invites.usable(code)
        with pytest.raises(NotFound):
            await office.invites.accept(code, NEW, REMOTE)
    assert [row.expired for row in await office.invites.list()] == [True]
    for gone in (newest.id, uuid4()):
        with pytest.raises(NotFound):
            await office.invites.revoke(mina, gone, REMOTE)
    assert await office.actions() == ["invite_made", "invite_made", "invite_revoked"]


async def test_a_used_invite_cannot_be_taken_back(office: Office, mina: UUID) -> None:
    await office.invites.accept(await office.invites.create(mina, "user", 7, "", REMOTE), NEW, REMOTE)
    with pytest.raises(NotFound):
        await office.invites.revoke(mina, (await office.invites.list())[0].id, REMOTE)


@pytest.mark.parametrize(
    ("new", "field"),
    [
        (NewAccount("mina", "another long one"), "name"),
        (NewAccount(" ", "another long one"), "name"),
        (NewAccount("Berta", "short"), "password"),
        (NewAccount("Berta", "password123"), "password"),
        (NewAccount("Bertalina", "bertalina1"), "password"),
    ],
)
async def test_unusable_values_leave_the_invite_open(office: Office, mina: UUID, new: NewAccount, field: str) -> None:
    code = await office.invites.create(mina, "user", 7, "", REMOTE)
    with pytest.raises(InvalidInput) as caught:
        await office.invites.accept(code, new, REMOTE)
    assert caught.value.field == field
    assert (await office.invites.accept(code, NEW, REMOTE)).name == "Berta"


async def test_an_operators_invite_takes_the_operators_password(office: Office, mina: UUID) -> None:
    with pytest.raises(InvalidInput) as caught:
        await office.invites.create(mina, "operator", 7, "wrong", REMOTE)
    assert caught.value.field == "password"
    code = await office.invites.create(mina, "operator", 7, PASSWORD, REMOTE)
    assert (await office.invites.accept(code, NEW, REMOTE)).role == "operator"
    assert await office.actions() == ["password_check_failed", "invite_made", "invite_accepted"]


@pytest.mark.parametrize("days", [0, -1, 31])
async def test_an_invite_lasts_1_to_30_days(office: Office, mina: UUID, days: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        await office.invites.create(mina, "user", days, "", REMOTE)
    assert caught.value.field == "days"


async def test_only_operators_make_and_take_back_invites(office: Office, mina: UUID, jun: UUID) -> None:
    await office.invites.create(mina, "user", 7, "", REMOTE)
    invite = (await office.invites.list())[0]
    for nobody in (jun, uuid4()):
        with pytest.raises(NotFound):
            await office.invites.create(nobody, "user", 7, "", REMOTE)
        with pytest.raises(NotFound):
            await office.invites.revoke(nobody, invite.id, REMOTE)
    assert [row.id for row in await office.invites.list()] == [invite.id]


async def test_tries_to_use_invites_are_limited_per_address(office: Office, mina: UUID) -> None:
    code = await office.invites.create(mina, "user", 7, "", REMOTE)
    refused = []
    for _ in range(35):
        try:
            await office.invites.accept("guess", NEW, REMOTE)
        except TooMany as error:
            refused.append(error.retry_after)
        except NotFound:
            continue
    assert len(refused) >= 4
    assert min(refused) > 0
    assert (await office.invites.accept(code, NEW, "4.3.2.1")).name == "Berta"
