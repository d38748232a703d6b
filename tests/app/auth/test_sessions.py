from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import select

from app.auth import Sessions
from app.database import Database
from app.errors import NotFound
from app.models import AuditEntry, User, UserSession
from tests.app.houses import MovingClock, add_user

pytestmark = pytest.mark.anyio


@pytest.fixture
def sessions(database: Database, clock: MovingClock) -> Sessions:
    return Sessions(database, clock, idle_days=7, absolute_days=30)


@pytest.fixture
async def owner(database: Database) -> UUID:
    return await add_user(database)


async def test_a_token_stands_for_its_account(sessions: Sessions, owner: UUID) -> None:
    first, second = await sessions.start(owner), await sessions.start(owner)
    assert first != second
    assert len(first) >= 43  # 256 bits.
    for token in (first, second):
        account = await sessions.resolve(token)
        assert account is not None
        assert account.id == owner
    for nobody in ("", "x", "\ud800", first + "x"):
        assert await sessions.resolve(nobody) is None


async def test_the_token_itself_is_not_stored(sessions: Sessions, owner: UUID, database: Database) -> None:
    token = await sessions.start(owner)
    async with database.read() as session:
        row = (await session.scalars(select(UserSession))).one()
    assert token not in {str(value) for value in vars(row).values()}


async def test_a_session_ends_when_it_is_not_used(sessions: Sessions, owner: UUID, clock: MovingClock) -> None:
    token = await sessions.start(owner)
    for _ in range(3):
        clock.advance(days=6)
        assert await sessions.resolve(token) is not None
    clock.advance(days=7)
    assert await sessions.resolve(token) is None


async def test_a_session_ends_after_its_longest_time(
    sessions: Sessions, owner: UUID, clock: MovingClock, database: Database
) -> None:
    token = await sessions.start(owner)
    for _ in range(29):
        clock.advance(days=1)
        assert await sessions.resolve(token) is not None
    clock.advance(days=1)
    assert await sessions.resolve(token) is None
    await sessions.start(owner)
    async with database.read() as session:
        assert len(list(await session.scalars(select(UserSession)))) == 1


async def test_a_session_of_a_disabled_user_is_nothing(
    sessions: Sessions, owner: UUID, clock: MovingClock, database: Database
) -> None:
    token = await sessions.start(owner)
    async with database.write() as session:
        (await session.get_one(User, owner)).disabled_at = clock()
    assert await sessions.resolve(token) is None


async def test_signing_out_ends_one_session_and_is_audited(sessions: Sessions, owner: UUID, database: Database) -> None:
    first, second = await sessions.start(owner), await sessions.start(owner)
    await sessions.end(first)
    await sessions.end(first)
    assert await sessions.resolve(first) is None
    assert await sessions.resolve(second) is not None
    async with database.read() as session:
        entries = list(await session.scalars(select(AuditEntry)))
    assert [(entry.action, entry.actor_id) for entry in entries] == [("sign_out", owner)]


async def test_form_tokens_fit_one_session(sessions: Sessions, owner: UUID) -> None:
    first, second = await sessions.start(owner), await sessions.start(owner)
    token = sessions.form_token(first)
    assert sessions.check_form_token(first, token)
    for session, given in ((second, token), (first, ""), (first, first), (first, "\ud800"), (first, "é")):
        assert not sessions.check_form_token(session, given)


async def test_a_new_session_makes_the_one_it_replaces_worthless(sessions: Sessions, owner: UUID) -> None:
    old, other = await sessions.start(owner), await sessions.start(owner)
    new = await sessions.start(owner, replaces=old)
    assert await sessions.resolve(old) is None
    for token in (other, new):
        assert await sessions.resolve(token) is not None


async def test_sessions_that_count_are_listed_and_one_is_marked(
    sessions: Sessions, owner: UUID, clock: MovingClock, database: Database
) -> None:
    await sessions.start(owner)
    clock.advance(days=8)  # That one was not used for too long.
    first = await sessions.start(owner)
    clock.advance(days=1)
    second = await sessions.start(owner)
    await sessions.start(await add_user(database, "Berta"))
    assert [(row.last_seen_at, row.current) for row in await sessions.list(owner, first)] == [
        (clock(), False),
        (clock() - timedelta(days=1), True),
    ]
    clock.advance(days=1)
    await sessions.resolve(first)
    assert [row.current for row in await sessions.list(owner, second)] == [False, True]


async def test_one_session_is_ended_by_its_owner_alone(sessions: Sessions, owner: UUID, database: Database) -> None:
    token = await sessions.start(owner)
    (row,) = await sessions.list(owner, token)
    stranger = await add_user(database, "Berta")
    with pytest.raises(NotFound):
        await sessions.end_one(stranger, row.id)
    assert await sessions.resolve(token) is not None
    await sessions.end_one(owner, row.id, "1.2.3.4")
    assert await sessions.resolve(token) is None
    with pytest.raises(NotFound):
        await sessions.end_one(owner, row.id)
    async with database.read() as session:
        entries = list(await session.scalars(select(AuditEntry)))
    assert [(entry.action, entry.actor_id, entry.remote) for entry in entries] == [("session_ended", owner, "1.2.3.4")]


async def test_ending_all_sessions_leaves_those_of_others(sessions: Sessions, owner: UUID, database: Database) -> None:
    stranger = await sessions.start(await add_user(database, "Berta"))
    tokens = [await sessions.start(owner) for _ in range(3)]
    await sessions.end_all(owner)
    assert [await sessions.resolve(token) for token in tokens] == [None, None, None]
    assert await sessions.resolve(stranger) is not None
    async with database.read() as session:
        assert list(await session.scalars(select(AuditEntry.action))) == ["sessions_ended"]
