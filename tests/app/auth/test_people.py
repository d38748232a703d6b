from uuid import UUID, uuid4

import anyio
import pytest
from sqlalchemy import select

from app.auth import NewAccount, UserRole
from app.errors import Conflict, InvalidInput, NotFound
from app.models import User
from tests.app.auth.persons import PASSWORD, REMOTE, Office

pytestmark = pytest.mark.anyio


async def enabled_operators(office: Office) -> int:
    query = select(User.id).where(User.role == "operator", User.disabled_at.is_(None))
    async with office.database.read() as session:
        return len(list(await session.scalars(query)))


async def test_disabling_ends_sessions_and_turns_and_sign_in(office: Office, mina: UUID, jun: UUID) -> None:
    token = await office.sessions.start(jun)
    await office.people.disable(mina, jun, REMOTE)
    assert await office.sessions.resolve(token) is None
    assert await office.sessions.list(jun, token) == []
    assert office.turns.stopped == [jun]
    with pytest.raises(InvalidInput):
        await office.accounts.sign_in("jun", PASSWORD, REMOTE)
    await office.people.disable(mina, jun, REMOTE)  # Again changes nothing, and is told to nobody.
    lines = await office.audited()
    assert lines[0] == ("account_disabled", mina, str(jun), REMOTE)
    assert [line[0] for line in lines] == ["account_disabled", "sign_in_failed"]


async def test_enabling_lets_somebody_in_again_but_no_old_session(office: Office, mina: UUID, jun: UUID) -> None:
    await office.people.disable(mina, jun, REMOTE)
    late = await office.sessions.start(jun)
    await office.people.enable(mina, jun, REMOTE)
    await office.people.enable(mina, jun, REMOTE)
    assert await office.sessions.resolve(late) is None
    assert (await office.accounts.sign_in("jun", PASSWORD, REMOTE)).id == jun
    assert await office.actions() == ["account_disabled", "account_enabled", "sign_in"]


async def test_the_last_operator_can_be_neither_disabled_nor_demoted(office: Office, mina: UUID, jun: UUID) -> None:
    for refused in (
        lambda: office.people.disable(mina, mina, REMOTE),
        lambda: office.people.disable(None, mina),
        lambda: office.people.set_role(mina, mina, "user", PASSWORD, REMOTE),
    ):
        with pytest.raises(Conflict):
            await refused()
    other = await office.add("Other", "operator")
    await office.people.disable(mina, other, REMOTE)
    with pytest.raises(Conflict):  # A disabled operator does not count.
        await office.people.disable(mina, mina, REMOTE)
    assert await enabled_operators(office) == 1
    assert await office.actions() == ["account_disabled"]


@pytest.mark.parametrize("how", ["disable", "demote"])
async def test_two_operators_who_remove_each_other_leave_one(office: Office, mina: UUID, how: str) -> None:
    other = await office.add("Other", "operator")
    refused: list[Exception] = []

    async def remove(actor: UUID, victim: UUID) -> None:
        try:
            if how == "disable":
                await office.people.disable(actor, victim, REMOTE)
            else:
                await office.people.set_role(actor, victim, "user", PASSWORD, REMOTE)
        except (NotFound, Conflict) as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(remove, mina, other)
        group.start_soon(remove, other, mina)
    assert len(refused) == 1
    assert await enabled_operators(office) == 1


async def test_all_operators_who_leave_at_once_leave_one(office: Office, mina: UUID) -> None:
    operators = [mina, *[await office.add(f"Operator {number}", "operator") for number in range(3)]]

    refused: list[Conflict] = []

    async def leave(operator: UUID) -> None:
        try:
            await office.people.disable(operator, operator, REMOTE)
        except Conflict as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for operator in operators:
            group.start_soon(leave, operator)
    assert len(refused) == 1
    assert await enabled_operators(office) == 1


@pytest.mark.parametrize("role", ["operator", "user"])
async def test_a_changed_role_takes_a_password_and_a_new_session(office: Office, mina: UUID, role: UserRole) -> None:
    before: UserRole = "user" if role == "operator" else "operator"
    somebody = await office.add("Somebody", before)
    token = await office.sessions.start(somebody)
    with pytest.raises(InvalidInput) as caught:
        await office.people.set_role(mina, somebody, role, "wrong", REMOTE)
    assert caught.value.field == "password"
    assert (await office.user(somebody)).role == before
    await office.people.set_role(mina, somebody, role, PASSWORD, REMOTE)
    await office.people.set_role(mina, somebody, role, PASSWORD, REMOTE)
    assert (await office.user(somebody)).role == role
    assert await office.sessions.resolve(token) is None
    action = "role_raised" if role == "operator" else "role_lowered"
    assert await office.audited() == [
        ("password_check_failed", mina, None, REMOTE),
        (action, mina, str(somebody), REMOTE),
    ]


async def test_a_reset_password_is_the_only_one_that_works(office: Office, mina: UUID, jun: UUID) -> None:
    token = await office.sessions.start(jun)
    with pytest.raises(InvalidInput):
        await office.people.reset_password(mina, jun, "wrong", REMOTE)
    made = await office.people.reset_password(mina, jun, PASSWORD, REMOTE)
    assert len(made) >= 20
    assert await office.sessions.resolve(token) is None
    with pytest.raises(InvalidInput):
        await office.accounts.sign_in("jun", PASSWORD, REMOTE)
    assert (await office.accounts.sign_in("jun", made, REMOTE)).id == jun
    assert (await office.actions())[:2] == ["password_check_failed", "password_reset"]


async def test_whoever_is_no_operator_can_do_nothing(office: Office, mina: UUID, jun: UUID) -> None:
    for nobody in (jun, uuid4()):
        for refused in (
            lambda actor: office.people.disable(actor, mina, REMOTE),
            lambda actor: office.people.enable(actor, mina, REMOTE),
            lambda actor: office.people.set_role(actor, actor, "operator", PASSWORD, REMOTE),
            lambda actor: office.people.reset_password(actor, mina, PASSWORD, REMOTE),
        ):
            with pytest.raises(NotFound):
                await refused(nobody)
    assert await office.actions() == []


async def test_missing_and_deleted_people_are_not_found(office: Office, mina: UUID, jun: UUID) -> None:
    await office.profiles.delete(jun, PASSWORD, REMOTE)
    for gone in (jun, uuid4()):
        for refused in (
            lambda user: office.people.person(user),
            lambda user: office.people.disable(mina, user, REMOTE),
            lambda user: office.people.enable(mina, user, REMOTE),
            lambda user: office.people.set_role(mina, user, "operator", PASSWORD, REMOTE),
            lambda user: office.people.reset_password(mina, user, PASSWORD, REMOTE),
        ):
            with pytest.raises(NotFound):
                await refused(gone)
    assert [person.id for person in await office.people.list()] == [mina]


async def test_people_are_listed_page_by_page_with_what_is_known_of_them(office: Office, mina: UUID, jun: UUID) -> None:
    office.clock.advance(hours=1)
    account = await office.accounts.sign_in("jun", PASSWORD, REMOTE)
    token = await office.sessions.start(account.id)
    office.clock.advance(hours=1)
    await office.sessions.resolve(token)
    first, second = await office.people.list()
    assert (first.id, first.role, first.last_seen_at, first.turns) == (mina, "operator", None, 0)
    assert (second.name, second.last_seen_at, second.disabled_at) == ("Jun", office.clock(), None)
    await office.sessions.end(token)
    office.clock.advance(hours=1)
    assert (await office.people.person(jun)).last_seen_at == second.last_seen_at
    assert [person.id for person in await office.people.list(limit=1)] == [mina]
    assert [person.id for person in await office.people.list(limit=1, after=mina)] == [jun]


async def test_the_console_makes_accounts_and_sets_passwords(office: Office, mina: UUID) -> None:
    made = await office.people.create(NewAccount("Berta", "another long one"), "operator")
    assert await office.people.id_of("BERTA") == made.id
    await office.people.set_password(made.id, "yet another one")
    assert (await office.accounts.sign_in("berta", "yet another one", REMOTE)).role == "operator"
    with pytest.raises(InvalidInput):
        await office.people.create(NewAccount("berta", "another long one"), "user")
    with pytest.raises(InvalidInput):
        await office.people.set_password(made.id, "12345678")
    with pytest.raises(NotFound, match="nobody"):
        await office.people.id_of("nobody")
    assert (await office.audited())[:2] == [
        ("account_made", None, str(made.id), None),
        ("password_reset", None, str(made.id), None),
    ]
