"""What every bus keeps to: the same tests for the one in memory and the one in Redis."""

import time

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.conversations import BEYOND_LOGS, LiveText
from app.turns.bus import LONGEST_LOG, Bus, MemoryBus
from app.turns.events import TurnEvent
from tests.app.redis_server import RedisServer
from tests.app.turns.logs import (
    OTHER_TURN,
    TURN,
    BusMaker,
    delta,
    end,
    log_of,
    memory_bus,
    read,
    read_until_lost,
    redis_buses,
    until_seen,
    write,
)

pytestmark = pytest.mark.anyio

TEXTS = ["한글", "a\u2028b", "", "\U0001f600", "\x85\x0b", '"}\n\ndata: x', " "]
EVENTS = [
    TurnEvent(1, "start", {"turn_id": str(TURN)}),
    TurnEvent(2, "status", {"phase": "reading", "total": 27, "cached": 19, "processed": 4}),
    *(delta(seq, text) for seq, text in enumerate(TEXTS, start=3)),
    TurnEvent(10, "usage", {"input_tokens": 0, "output_tokens": None}),
    TurnEvent(11, "end", {"status": "completed", "stop_reason": "end_turn"}),
]


@pytest.fixture(scope="session", params=["memory", "redis"])
def make_bus(request: pytest.FixtureRequest) -> BusMaker:
    if request.param == "memory":
        return memory_bus
    server: RedisServer = request.getfixturevalue("shared_redis")
    return redis_buses(server)


@given(st.lists(st.text(), max_size=8), st.data())
@settings(deadline=None, max_examples=40)
def test_a_reader_who_comes_back_anywhere_has_the_same_text(
    make_bus: BusMaker, texts: list[str], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(texts)))

    async def come_back() -> str:
        async with make_bus() as bus:
            write(bus, texts)
            return await read(bus, cut, "".join(texts[:cut]))

    assert anyio.run(come_back) == "".join(texts)


async def test_a_reader_gets_exactly_the_events_behind_its_cursor_in_order(make_bus: BusMaker) -> None:
    async with make_bus() as bus:
        bus.open(TURN)
        for number, event in enumerate(EVENTS):
            bus.publish(TURN, event)
            for after in range(number + 1):
                log = await log_of(bus, after)
                assert [await anext(log) for _ in EVENTS[after : number + 1]] == EVENTS[after : number + 1]
                await log.aclose()
        for after in range(len(EVENTS) + 1):
            assert [event async for event in await log_of(bus, after)] == EVENTS[after:]


async def test_a_log_is_empty_at_first_and_there_is_none_of_an_unknown_turn(make_bus: BusMaker) -> None:
    async with make_bus() as bus:
        bus.open(TURN)
        assert await bus.snapshot(TURN) == LiveText("", 0)
        assert await bus.snapshot(OTHER_TURN) is None
        assert await bus.follow(OTHER_TURN, 0) is None
        bus.publish(OTHER_TURN, delta(1, "x"))
        assert await bus.snapshot(OTHER_TURN) is None


async def test_a_log_may_begin_with_text_that_was_there_before(make_bus: BusMaker) -> None:
    async with make_bus() as bus:
        bus.open(TURN, "한 ")
        assert await bus.snapshot(TURN) == LiveText("한 ", 0)
        bus.publish(TURN, delta(1, "글"))
        assert await bus.snapshot(TURN) == LiveText("한 글", 1)
        first = await anext(await log_of(bus, 7))
        assert (first.kind, first.data) == ("reset", {"text": "한 글", "cursor": 1})


@pytest.mark.parametrize("after", [3, 99, BEYOND_LOGS])
async def test_a_reader_from_the_future_is_reset(make_bus: BusMaker, after: int) -> None:
    async with make_bus() as bus:
        write(bus, ["a", "b"], ended=False)
        first = await anext(await log_of(bus, after))
        assert (first.kind, first.seq, dict(first.data)) == ("reset", 2, {"text": "ab", "cursor": 2})
        bus.publish(TURN, end(3))
        assert await read(bus, 99, "nonsense") == "ab"


async def test_a_reader_behind_a_trimmed_log_is_reset(make_bus: BusMaker) -> None:
    texts = ["x"] * (LONGEST_LOG + 10)
    async with make_bus() as bus:
        write(bus, texts)
        first = await anext(await log_of(bus, 3))
        assert (first.kind, first.data["text"]) == ("reset", "".join(texts))
        assert await read(bus, 3, "xxx") == "".join(texts)
        assert await read(bus, LONGEST_LOG, "x" * LONGEST_LOG) == "".join(texts)
        assert await bus.snapshot(TURN) == LiveText("".join(texts), len(texts) + 1)


async def test_readers_wait_for_what_comes_and_are_told_the_end(make_bus: BusMaker) -> None:
    texts: list[str] = []

    async def reader(bus: Bus) -> None:
        texts.append(await read(bus, 0))

    async with make_bus() as bus:
        write(bus, ["a"], ended=False)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(reader, bus)
            await anyio.sleep(0.05)
            bus.publish(TURN, delta(2, "b"))
            await anyio.sleep(0.05)
            assert texts == []
            bus.publish(TURN, end(3))
    assert texts == ["ab"] * 3


async def test_a_reader_with_everything_gets_nothing(make_bus: BusMaker) -> None:
    async with make_bus() as bus:
        write(bus, ["a"])
        assert [event async for event in await log_of(bus, 2)] == []


async def test_snapshots_have_text_and_cursor_of_the_same_moment(make_bus: BusMaker) -> None:
    """Taken at any moment while somebody writes; a reader goes on from each of them."""
    texts = [f"<{number}>" for number in range(60)]
    snapshots: list[LiveText] = []

    async def keep_writing(bus: Bus) -> None:
        for seq, text in enumerate(texts, start=1):
            bus.publish(TURN, delta(seq, text))
            await anyio.sleep(0.001 if seq % 3 else 0)
        bus.publish(TURN, end(len(texts) + 1))

    async with make_bus() as bus:
        bus.open(TURN)
        async with anyio.create_task_group() as group:
            group.start_soon(keep_writing, bus)
            while not snapshots or snapshots[-1].cursor <= len(texts):
                snapshot = await bus.snapshot(TURN)
                assert snapshot is not None
                snapshots.append(snapshot)
                await anyio.sleep(0.001)
        for snapshot in snapshots:
            assert snapshot.text == "".join(texts[: snapshot.cursor])
            assert await read(bus, snapshot.cursor, snapshot.text) == "".join(texts)
    assert len({snapshot.cursor for snapshot in snapshots}) > 5


async def test_drop_ends_readers_at_once_and_forgets_the_text(make_bus: BusMaker) -> None:
    seen: list[TurnEvent] = []
    async with make_bus() as bus:
        write(bus, ["a"], ended=False)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(read_until_lost, bus, 0, seen)
            await until_seen(seen, 3)
            bus.drop(TURN)
            bus.drop(TURN)
            bus.publish(TURN, delta(2, "late"))
        assert seen == [delta(1, "a")] * 3
        assert await bus.snapshot(TURN) is None
        assert await bus.follow(TURN, 0) is None


async def test_a_slow_reader_holds_nobody_up_and_misses_nothing(make_bus: BusMaker) -> None:
    texts = ["x"] * 500
    async with make_bus() as bus:
        write(bus, texts[:1], ended=False)
        slow = await log_of(bus, 0)
        seen = [await anext(slow)]
        for seq, text in enumerate(texts[1:], start=2):
            bus.publish(TURN, delta(seq, text))
        bus.publish(TURN, end(len(texts) + 1))
        assert await read(bus, 0) == "".join(texts)
        seen.extend([event async for event in slow])
    assert [event.seq for event in seen] == list(range(1, len(texts) + 2))


async def test_many_readers_of_many_turns_get_everything(make_bus: BusMaker, shared_redis: RedisServer) -> None:
    turns = [type(TURN)(int=100 + number) for number in range(30)]
    texts: list[str] = []

    async def reader(bus: Bus, turn: int) -> None:
        texts.append(await read(bus, 0, turn_id=turns[turn]))

    async with make_bus() as bus:
        for turn_id in turns:
            bus.open(turn_id)
        async with anyio.create_task_group() as group:
            for turn in range(len(turns)):
                for _ in range(4 if turn else 40):
                    group.start_soon(reader, bus, turn)
            for seq in range(1, 11):
                for turn_id in turns:
                    bus.publish(turn_id, delta(seq, f"{seq} "))
                await anyio.sleep(0.002)
            with shared_redis.client() as client:
                assert len(client.client_list()) <= 25  # Far fewer than readers.
            for turn_id in turns:
                bus.publish(turn_id, end(11))
    assert texts == ["1 2 3 4 5 6 7 8 9 10 "] * (40 + 29 * 4)


async def test_a_reader_of_a_silent_log_is_sent_to_look_elsewhere_and_may_come_back(make_bus: BusMaker) -> None:
    async with make_bus(patience=0.1) as bus:
        write(bus, ["a"], ended=False)
        seen: list[TurnEvent] = []
        began = time.monotonic()
        await read_until_lost(bus, 0, seen)
        assert time.monotonic() - began >= 0.1
        bus.publish(TURN, delta(2, "b"))
        bus.publish(TURN, end(3))
        assert await read(bus, seen[-1].seq, "a") == "ab"


async def test_a_cancelled_turn_is_told_to_who_serves(make_bus: BusMaker) -> None:
    stopped: list[object] = []
    async with make_bus(stop=stopped.append) as bus:
        while not stopped:  # Redis may still be about to subscribe.
            bus.cancel(TURN)
            await anyio.sleep(0.02)
    assert set(stopped) == {TURN}


async def test_a_log_that_ended_a_while_ago_is_forgotten_and_a_live_one_is_not(make_bus: BusMaker) -> None:
    async with make_bus(keep_seconds=0.3) as bus:
        write(bus, ["a"])
        write(bus, ["b"], ended=False, turn_id=OTHER_TURN)
        bus.sweep()
        assert await bus.snapshot(TURN) == LiveText("a", 2)
        while await bus.snapshot(TURN) is not None:
            await anyio.sleep(0.05)
            bus.sweep()
        assert await bus.follow(TURN, 0) is None
        assert await bus.snapshot(OTHER_TURN) == LiveText("b", 1)


async def test_sweep_keeps_an_ended_log_for_its_time() -> None:
    now = 0.0
    bus = MemoryBus(keep_seconds=60, monotonic=lambda: now)
    write(bus, [])
    now = 59.0
    bus.sweep()
    assert await bus.snapshot(TURN) is not None
    now = 60.0
    bus.sweep()
    assert await bus.snapshot(TURN) is None
