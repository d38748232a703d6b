"""Two processes with one database and one Redis: what one writes the other shows live, and stops."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

import anyio
import pytest
from sqlalchemy import update

from app.conversations import BEYOND_LOGS
from app.house import House, open_house
from app.models import Turn
from app.turns import TurnEvent
from app.turns.bus.redis_streams import CANCEL_CHANNEL, text_key
from app.turns.rhythm import Rhythm
from app.turns.workers import Process
from tests.app.houses import QUICK, add_user, follow, last_answer, question, settings_for, until, until_kind
from tests.app.redis_server import RedisServer
from tests.app.turns.logs import delta as delta_event
from tests.app.turns.logs import redis_bus
from tests.app.turns.test_workers import add_live_turn, add_worker
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio

# What arrives in time has not come through SQL.
NO_CHECKPOINTS = replace(QUICK, checkpoint=3600, poll=3600, patience=60, stop_wait=60)
WHOLE = "One two, 셋 넷"


@asynccontextmanager
async def two_houses(
    database_url: str, backend_url: str, redis: RedisServer, rhythm: Rhythm
) -> AsyncIterator[tuple[House, House, UUID]]:
    """And a user."""
    settings = settings_for(database_url, backend_url, redis_url=redis.url)
    async with (
        open_house(settings, rhythm=rhythm) as house,
        open_house(settings, rhythm=rhythm, process=Process("elsewhere", 1)) as other,
    ):
        yield house, other, await add_user(house.database)


def text_of(events: Iterable[TurnEvent], text: str = "") -> str:
    """What a page shows in the end that showed `text`."""
    for event in events:
        if event.kind == "reset":
            text = str(event.data["text"])
        elif event.kind == "delta":
            text += str(event.data["text"])
    return text


async def shown(
    house: House, owner: UUID, turn_id: UUID, after: int, text: str, into: list[tuple[str, object]]
) -> None:
    events = await follow(house, owner, turn_id, after)
    into.append((text_of(events, text), events[-1].data.get("status")))


async def test_an_answer_is_followed_live_at_another_worker(
    database_url: str, backend_url: str, backend: ScriptedBackend, shared_redis: RedisServer
) -> None:
    gates = [Gate(), Gate()]
    backend.script(message_start(), delta("One"), gates[0], delta(" two, "), gates[1], delta("셋 넷"), *answer("")[2:])
    async with two_houses(database_url, backend_url, shared_redis, NO_CHECKPOINTS) as (house, other, owner):
        sent = await house.turns.send(owner, question())
        await gates[0].arrived()
        events = await other.turns.events(owner, sent.turn_id, 0)
        assert (await until_kind(events, "delta")).data["text"] == "One"
        gates[0].open()
        assert (await until_kind(events, "delta")).data["text"] == " two, "
        page = await last_answer(other, owner, sent.conversation_id)
        assert page.text == "One two, "
        gates[1].open()
        assert text_of(await follow(other, owner, sent.turn_id, page.cursor), page.text) == WHOLE
        assert text_of([event async for event in events], "One two, ") == WHOLE
        assert await follow(other, owner, sent.turn_id, page.cursor) == await follow(
            house, owner, sent.turn_id, page.cursor
        )


async def test_stop_at_another_worker_takes_effect_at_once(
    database_url: str, backend_url: str, backend: ScriptedBackend, shared_redis: RedisServer
) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate, *answer("never"))
    async with two_houses(database_url, backend_url, shared_redis, NO_CHECKPOINTS) as (house, other, owner):
        await listening(shared_redis, 2)
        sent = await house.turns.send(owner, question())
        await until_kind(await other.turns.events(owner, sent.turn_id, 0), "delta")
        await other.turns.stop(owner, sent.turn_id)
        last = await last_answer(other, owner, sent.conversation_id)
        assert last.turn is not None
        assert (last.text, last.turn.status) == ("Part", "stopped")
        await backend.until(lambda: backend.disconnects == 1)


async def listening(redis: RedisServer, workers: int) -> None:
    """A stop that is published before a worker listens is lost, but for its flag; here it has to arrive."""

    async def all_listen() -> bool:
        with redis.client() as client:
            return client.pubsub_numsub(CANCEL_CHANNEL) == [(CANCEL_CHANNEL, workers)]

    await until(all_listen)


async def test_an_answer_ends_when_its_conversation_is_deleted_at_another_worker(
    database_url: str, backend_url: str, backend: ScriptedBackend, shared_redis: RedisServer
) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate, *answer("never"))
    async with two_houses(database_url, backend_url, shared_redis, NO_CHECKPOINTS) as (house, other, owner):
        await listening(shared_redis, 2)
        sent = await house.turns.send(owner, question())
        events = await house.turns.events(owner, sent.turn_id, 0)
        await until_kind(events, "delta")
        await other.conversations.delete(owner, sent.conversation_id)
        await backend.until(lambda: backend.disconnects == 1)
        assert text_of([event async for event in events], "Part") == ""
        with shared_redis.client() as client:
            assert not client.exists(text_key(sent.turn_id))


@pytest.mark.parametrize("fate", ["killed", "frozen", "emptied"])
async def test_an_answer_outlives_redis_and_every_reader_gets_all_of_it(
    database_url: str, backend_url: str, backend: ScriptedBackend, redis_server: RedisServer, fate: str
) -> None:
    gates = [Gate(), Gate()]
    backend.script(message_start(), delta("One"), gates[0], delta(" two, "), gates[1], delta("셋 넷"), *answer("")[2:])
    rhythm = replace(QUICK, redis_timeout=1.0, redis_pause=0.05)
    seen: list[tuple[str, object]] = []
    async with two_houses(database_url, backend_url, redis_server, rhythm) as (house, other, owner):
        sent = await house.turns.send(owner, question())
        await gates[0].arrived()
        async with anyio.create_task_group() as group:
            for place in (house, other):
                page = await last_answer(place, owner, sent.conversation_id)
                group.start_soon(shown, place, owner, sent.turn_id, 0, "", seen)
                group.start_soon(shown, place, owner, sent.turn_id, page.cursor, page.text, seen)
            await anyio.sleep(0.1)  # They may be anywhere by now.
            {"killed": redis_server.kill, "frozen": redis_server.freeze, "emptied": redis_server.flush}[fate]()
            gates[0].open()
            await gates[1].arrived()
            for place in (house, other):  # A page that is opened now.
                page = await last_answer(place, owner, sent.conversation_id)
                assert WHOLE.startswith(page.text)
                group.start_soon(shown, place, owner, sent.turn_id, page.cursor, page.text, seen)
            gates[1].open()
        assert seen == [(WHOLE, "completed")] * 6
        last = await last_answer(other, owner, sent.conversation_id)
        assert last.turn is not None
        assert (last.text, last.turn.status) == (WHOLE, "completed")
        if fate == "killed":
            redis_server.start()
        elif fate == "frozen":
            redis_server.thaw()
        await used_again(house, other, owner, backend)


async def used_again(house: House, other: House, owner: UUID, backend: ScriptedBackend) -> None:
    """New answers are live at the other worker as soon as Redis is back."""

    async def is_live() -> bool:
        gate = Gate()
        backend.script(message_start(), delta("Live"), gate, *answer("")[2:])
        sent = await house.turns.send(owner, question())
        await gate.arrived()
        page = await last_answer(other, owner, sent.conversation_id)
        gate.open()
        assert text_of(await follow(other, owner, sent.turn_id, page.cursor), page.text) == "Live"
        return page.cursor < BEYOND_LOGS

    await until(is_live)


async def test_a_page_from_sql_is_not_continued_by_a_log(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    """Its text is of no cursor; the log that is there again replaces it."""
    gate = Gate()
    backend.script(message_start(), delta("Whole"), gate, *answer("")[2:])
    sent = await house.turns.send(anna, question())
    await until_kind(await house.turns.events(anna, sent.turn_id, 0), "delta")
    events = await house.turns.events(anna, sent.turn_id, BEYOND_LOGS + 3)
    first = await anext(events)
    assert (first.kind, first.data["text"]) == ("reset", "Whole")
    assert first.seq < BEYOND_LOGS
    gate.open()
    assert text_of([event async for event in events], "Whole") == "Whole"


async def test_readers_of_a_worker_that_died_are_told_the_end(
    database_url: str, backend_url: str, shared_redis: RedisServer
) -> None:
    """Its log in Redis stays without an end."""
    shared_redis.flush()
    rhythm = replace(QUICK, patience=0.1)
    async with (
        two_houses(database_url, backend_url, shared_redis, rhythm) as (house, _, owner),
        redis_bus(shared_redis.url) as bus_of_the_dead,
    ):
        worker = await add_worker(house.database, house.clock())
        conversation_id = await add_live_turn(house.database, owner, worker, "Part")
        turn = (await last_answer(house, owner, conversation_id)).turn
        assert turn is not None
        bus_of_the_dead.open(turn.id)
        bus_of_the_dead.publish(turn.id, delta_event(1, "Part of it"))
        assert await bus_of_the_dead.snapshot(turn.id) is not None
        events = await house.turns.events(owner, turn.id, 0)
        assert await anext(events) == delta_event(1, "Part of it")
        async with house.database.write() as session:
            await session.execute(update(Turn).where(Turn.id == turn.id).values(status="interrupted"))
        rest = [event async for event in events]
    assert [event.kind for event in rest] == ["reset", "end"]
    assert (rest[0].data["text"], rest[1].data["status"]) == ("Part", "interrupted")


async def test_a_log_that_comes_late_takes_over_from_sql(
    database_url: str, backend_url: str, shared_redis: RedisServer
) -> None:
    """A reader may be faster than the writer's first command."""
    shared_redis.flush()
    async with (
        two_houses(database_url, backend_url, shared_redis, QUICK) as (house, _, owner),
        redis_bus(shared_redis.url) as bus,
    ):
        worker = await add_worker(house.database, house.clock())
        conversation_id = await add_live_turn(house.database, owner, worker, "")
        turn = (await last_answer(house, owner, conversation_id)).turn
        assert turn is not None
        events = await house.turns.events(owner, turn.id, 0)
        assert (await anext(events)).data["text"] == ""
        bus.open(turn.id)
        bus.publish(turn.id, delta_event(1, "Live"))
        first = await anext(events)
        while text_of([first]) != "Live":
            first = await anext(events)
        bus.publish(turn.id, TurnEvent(2, "end", {"status": "completed"}))
        assert [event.kind async for event in events] == ["end"]
