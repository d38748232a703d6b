"""The outcome of turns whose model server is scripted: it says numbers, text and who it is, and never why it missed."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from uuid import UUID

import pytest
from sqlalchemy import select, text, update

from app.conversations import TurnFigures
from app.conversations.choices import Choice
from app.conversations.params import Params
from app.database import Database
from app.house import House, open_house
from app.models import TURN_IS_LIVE, ServingEvent, Turn
from app.settings import Backend, ReuseRule
from app.turns.naming import UNNAMED
from tests.app.databases import DatabaseFactory, SqliteFactory
from tests.app.houses import QUICK, MovingClock, add_user, ask, follow, question, settings_for, until
from tests.live_server import LiveServer
from tests.scripted_backend import MESSAGES, Gate, ScriptedBackend, Step, delta, ending, error_reply, message_start

pytestmark = pytest.mark.anyio


def reply(computed: int | None, cached: int | None, output: int = 5, serving_id: str | None = None) -> list[Step]:
    """An answer with these counts; the next question should read `computed + cached + output - 1` tokens."""
    usage = {"input_tokens": computed, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached}
    return [message_start(usage=usage, serving_id=serving_id), delta("Yes."), *ending(output_tokens=output)]


async def figures(house: House, conversation_id: UUID) -> list[TurnFigures]:
    return [row.figures for row in (await house.reports.conversation(conversation_id)).turns]


async def outcomes(house: House, conversation_id: UUID) -> list[str]:
    return [turn.outcome.value for turn in await figures(house, conversation_id)]


class Servers:
    """Two model servers, and houses that send to one or both."""

    def __init__(self, first: ScriptedBackend, second: ScriptedBackend, urls: tuple[str, str], database: str) -> None:
        self.first, self.second, self.urls, self.database = first, second, urls, database

    def house(
        self, *names: str, clock: MovingClock | None = None, **options: object
    ) -> AbstractAsyncContextManager[House]:
        backends = tuple(
            Backend(name=name, base_url=url, **options)
            for name, url in zip(("one", "two"), self.urls, strict=True)
            if name in (names or ("one",))
        )
        settings = settings_for(self.database, "http://127.0.0.1:9", backends=backends)
        return open_house(settings, clock=clock or MovingClock(), rhythm=QUICK)


@pytest.fixture
def servers(databases: DatabaseFactory) -> Iterator[Servers]:
    database_url = databases.migrated()
    first, second = ScriptedBackend(), ScriptedBackend()
    with ExitStack() as stack:
        one, two = (stack.enter_context(LiveServer(scripted, lifespan=False)) for scripted in (first, second))
        yield Servers(first, second, (one.url, two.url), database_url)
    databases.recycle(database_url)


async def test_turns_that_say_nothing_are_told_apart(servers: Servers) -> None:
    async with servers.house() as house:
        anna = await add_user(house.database)
        servers.first.script(*reply(20, 0))
        sent = await ask(house, anna)
        servers.first.script(*reply(30, None))
        await ask(house, anna, "Two", sent.conversation_id)
        servers.first.script(error_reply(400, "invalid_request_error"))
        await ask(house, anna, "Three", sent.conversation_id)
        assert await outcomes(house, sent.conversation_id) == ["first_turn", "not_reported", "not_reported"]


async def test_a_turn_that_is_written_is_pending_until_it_ends(servers: Servers) -> None:
    async with servers.house() as house:
        anna = await add_user(house.database)
        gate = Gate()
        first, *rest = reply(20, 0)
        servers.first.script(first, gate, *rest)
        sent = await house.turns.send(anna, question("Hello"))
        await gate.arrived()
        assert await outcomes(house, sent.conversation_id) == ["pending"]
        gate.open()
        await follow(house, anna, sent.turn_id)
        assert await outcomes(house, sent.conversation_id) == ["first_turn"]


async def test_a_turn_whose_server_is_not_there_was_not_sent(databases: DatabaseFactory) -> None:
    settings = settings_for(databases.migrated(), "http://127.0.0.1:9")
    async with open_house(settings, rhythm=QUICK) as house:
        sent = await ask(house, await add_user(house.database))
        turn = (await figures(house, sent.conversation_id))[0]
        assert (turn.status, turn.outcome, turn.fault) == ("failed", "not_sent", False)


async def test_a_turn_that_ended_without_its_job_is_named_by_whoever_finds_it(servers: Servers) -> None:
    async with servers.house() as house:
        anna = await add_user(house.database)
        servers.first.script(*reply(20, 0))
        sent = await ask(house, anna)
        async with house.database.write() as session:
            await session.execute(update(Turn).values(outcome=None, fault=None))

        async def named() -> bool:
            return await outcomes(house, sent.conversation_id) == ["first_turn"]

        await until(named)


async def test_unnamed_turns_are_found_without_a_look_at_all_turns(sqlite_factory: SqliteFactory) -> None:
    query = str(select(Turn.id).where(UNNAMED, ~TURN_IS_LIVE).compile(compile_kwargs={"literal_binds": True}))
    database = Database(sqlite_factory.migrated())
    async with database.read() as session:
        plan = [row[3] for row in await session.execute(text(f"EXPLAIN QUERY PLAN {query}"))]
    await database.close()
    assert plan == ["SCAN turns USING INDEX ix_turns_unnamed"]


async def test_what_nobody_explains_is_unknown_and_no_fault(servers: Servers) -> None:
    async with servers.house() as house:
        anna = await add_user(house.database)
        servers.first.script(*reply(20, 0))
        sent = await ask(house, anna)
        servers.first.script(*reply(20, 14))
        await ask(house, anna, "Two", sent.conversation_id)
        turn = (await figures(house, sent.conversation_id))[1]
        assert (turn.outcome, turn.fault, turn.shortfall_tokens, turn.law_mismatch) == ("unknown", False, 10, None)


@pytest.mark.parametrize(
    ("rule", "cached", "outcome"),
    [
        ("block(16)", 16, "block_rounding"),
        ("block(8)", 16, "unknown"),
        ("breakpoint(1024)", 0, "block_rounding"),
        ("none", 0, "caching_off"),
        ("token", 24, "hit"),
    ],
)
async def test_what_a_backend_can_reuse_decides_what_is_rounding(
    servers: Servers, rule: str, cached: int, outcome: str
) -> None:
    async with servers.house(reuse_rule=rule) as house:
        anna = await add_user(house.database)
        servers.first.script(*reply(20, 0))
        sent = await ask(house, anna)
        servers.first.script(*reply(40 - cached, cached))
        await ask(house, anna, "Two", sent.conversation_id)
        turn = (await figures(house, sent.conversation_id))[1]
        assert (turn.outcome, turn.fault, turn.shortfall_tokens) == (outcome, False, 24 - cached)


@pytest.mark.parametrize(("seconds", "outcome"), [(299, "unknown"), (301, "expired")])
async def test_a_cache_with_a_lifetime_expires(servers: Servers, seconds: int, outcome: str) -> None:
    clock = MovingClock()
    async with servers.house(clock=clock, cache_lifetime_s=300) as house:
        anna = await add_user(house.database)
        servers.first.script(*reply(20, 0))
        sent = await ask(house, anna)
        clock.advance(seconds=seconds)
        servers.first.script(*reply(40, 0))
        await ask(house, anna, "Two", sent.conversation_id)
        assert (await outcomes(house, sent.conversation_id))[1] == outcome


async def test_a_new_serving_id_is_a_restart_and_an_older_one_another_replica(servers: Servers) -> None:
    clock = MovingClock()
    async with servers.house(clock=clock) as house:
        anna = await add_user(house.database)
        servers.first.script(*reply(20, 0, serving_id="a"))
        sent = await ask(house, anna)
        for serving_id in ("b", "b", "a"):
            clock.advance(seconds=60)
            servers.first.script(*reply(60, 0, serving_id=serving_id))
            await ask(house, anna, "Next", sent.conversation_id)
        assert await outcomes(house, sent.conversation_id) == ["first_turn", "restarted", "unknown", "other_replica"]
        turns = await figures(house, sent.conversation_id)
        assert [turn.fault for turn in turns] == [False, True, False, True]
        async with house.database.read() as session:
            starts = (await session.scalars(select(ServingEvent).order_by(ServingEvent.at))).all()
        assert [(start.backend, start.serving_id) for start in starts if start.kind == "server_start"] == [
            ("one", "a"),
            ("one", "b"),
        ]


async def test_a_turn_that_finds_nobody_goes_to_another_backend_and_says_so(servers: Servers) -> None:
    async with servers.house("one", "two") as house:
        anna = await add_user(house.database)
        sent = await ask(house, anna)
        used = servers.first if servers.first.questions else servers.second
        other = servers.second if used is servers.first else servers.first
        for _ in range(3):
            await ask(house, anna, "Again", sent.conversation_id)
        assert (len(used.questions), len(other.questions)) == (4, 0)
    name = "one" if used is servers.first else "two"
    dead = tuple(
        "http://127.0.0.1:9" if key == name else url for key, url in zip(("one", "two"), servers.urls, strict=True)
    )
    alive = Servers(servers.first, servers.second, (dead[0], dead[1]), servers.database)
    async with alive.house("one", "two") as house:
        await ask(house, anna, "Once more", sent.conversation_id)
        turn = (await figures(house, sent.conversation_id))[-1]
        assert (turn.status, turn.outcome, turn.fault) == ("completed", "other_replica", True)
        assert len(other.questions) == 1
        # It stays where it is now: the base turn was served there.
        await ask(house, anna, "And again", sent.conversation_id)
        assert (await outcomes(house, sent.conversation_id))[-1] == "hit"


async def test_a_model_that_only_one_backend_has_is_asked_there(servers: Servers) -> None:
    servers.first.models[0]["id"] = "large"
    async with servers.house("one", "two") as house:
        anna = await add_user(house.database)
        await house.turns.learn_windows()
        for number in range(4):
            await ask(house, anna, f"Question {number}", choice=Choice("large", Params()), offered=("large",))
        assert (len(servers.first.questions), len(servers.second.questions)) == (4, 0)


async def test_conversations_are_spread_and_each_stays_with_its_own(servers: Servers) -> None:
    async with servers.house("one", "two") as house:
        anna = await add_user(house.database)
        for number in range(12):
            sent = await ask(house, anna, f"Question {number}")
            await ask(house, anna, "Next", sent.conversation_id)
            backends = {turn.backend for turn in await figures(house, sent.conversation_id)}
            assert len(backends) == 1
        asked = (len(servers.first.questions), len(servers.second.questions))
        assert sum(asked) == 24
        assert min(asked) > 0


async def test_options_of_a_backend_go_out_beside_the_body_that_is_checked(servers: Servers) -> None:
    options = {"diagnostics": True, "cache_control": True, "session_header": "x-session"}
    async with servers.house(**options) as house:
        anna = await add_user(house.database)
        sent = await ask(house, anna)
        await ask(house, anna, "Two", sent.conversation_id)
        first, second = servers.first.questions
        assert first.headers["x-session"] == second.headers["x-session"] == str(sent.conversation_id)
        assert "diagnostics" not in first.json()
        assert second.json()["diagnostics"] == {"previous_message_id": "msg_1"}
        assert second.json()["cache_control"] == {"type": "ephemeral"}
        turns = await figures(house, sent.conversation_id)
        assert turns[1].backend_message_id == "msg_2"
    assert MESSAGES in {request.path for request in servers.first.requests}


def test_a_reuse_rule_is_read_from_its_word() -> None:
    def rule(word: str) -> ReuseRule:
        return Backend(name="a", base_url="http://a", reuse_rule=word).reuse_rule

    assert (rule("token"), rule("block(16)")) == (ReuseRule("token"), ReuseRule("block", 16))
    assert [str(rule(word)) for word in ("none", "breakpoint(1024)")] == ["none", "breakpoint(1024)"]
    for wrong in ("block", "block(0)", "block(x)", "tokens", "block(16) "):
        with pytest.raises(ValueError, match=r"must be token, block\(N\), breakpoint\(N\) or none"):
            rule(wrong)
