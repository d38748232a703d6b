"""What only the bus in Redis has to keep to: several processes, and a Redis that is away, hangs, or forgets."""

import logging
import random

import anyio
import pytest

from app.conversations import LiveText
from app.turns.bus import Bus, redis_streams
from app.turns.events import TurnEvent
from tests.app.houses import until
from tests.app.redis_server import NO_REDIS, RedisServer
from tests.app.turns.logs import (
    OTHER_TURN,
    TURN,
    delta,
    end,
    log_of,
    read,
    read_until_lost,
    redis_bus,
    redis_buses,
    until_seen,
    write,
)

pytestmark = pytest.mark.anyio

QUICK_TIMEOUT = 0.5


async def until_back(bus: Bus) -> None:
    """A new log can be written again."""

    async def is_written() -> bool:
        bus.open(OTHER_TURN)
        return await bus.snapshot(OTHER_TURN) is not None

    await until(is_written)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().split(",")[0].split(":")[0] for record in caplog.records if "Redis" in record.message]


async def test_any_process_reads_what_one_writes(shared_redis: RedisServer) -> None:
    make_bus = redis_buses(shared_redis)
    async with make_bus() as writer, make_bus() as elsewhere:
        write(writer, ["a", "b"], ended=False)
        assert await writer.snapshot(TURN) == await elsewhere.snapshot(TURN) == LiveText("ab", 2)
        log = await log_of(elsewhere, 1)
        assert await anext(log) == delta(2, "b")
        for seq in range(3, 40):
            writer.publish(TURN, delta(seq, f"{seq} "))
            assert await anext(log) == delta(seq, f"{seq} ")
        writer.publish(TURN, end(40))
        assert [event async for event in log] == [end(40)]


async def test_any_process_can_drop_a_log_and_its_writer_writes_no_more(shared_redis: RedisServer) -> None:
    make_bus = redis_buses(shared_redis)
    async with make_bus() as writer, make_bus() as elsewhere:
        write(writer, ["secret"], ended=False)
        await writer.snapshot(TURN)
        seen: list[TurnEvent] = []
        async with anyio.create_task_group() as group:
            for bus in (writer, elsewhere):
                group.start_soon(read_until_lost, bus, 0, seen)
            await until_seen(seen, 2)
            elsewhere.drop(TURN)
        writer.publish(TURN, delta(2, "secret"))
        assert await writer.snapshot(TURN) is None
        with shared_redis.client() as client:
            kept = client.xrange(redis_streams.events_key(TURN))
            assert [fields["kind"] for _, fields in kept] == ["gone"]
            assert not client.exists(redis_streams.text_key(TURN))


async def test_nothing_stays_in_redis_for_ever(shared_redis: RedisServer) -> None:
    make_bus = redis_buses(shared_redis)
    async with make_bus() as bus:
        write(bus, ["a"])
        write(bus, ["b"], ended=False, turn_id=OTHER_TURN)
        await log_of(bus, 0, OTHER_TURN)
        bus.drop(TURN)
        await bus.snapshot(TURN)
        with shared_redis.client() as client:
            names = list(client.scan_iter("*"))
            assert len(names) >= 4
            assert all(name.startswith("recount:") for name in names)
            assert [name for name in names if client.pttl(name) < 0] == []


async def test_a_repeated_command_changes_nothing(shared_redis: RedisServer) -> None:
    make_bus = redis_buses(shared_redis)
    async with make_bus() as bus:
        write(bus, ["a", "b"], ended=False)
        await bus.snapshot(TURN)
        with shared_redis.client() as client:
            for event in (delta(1, "a"), delta(2, "b")):
                client.execute_command(*redis_streams.append(TURN, event, 60_000).words)
        assert await bus.snapshot(TURN) == LiveText("ab", 2)
        bus.publish(TURN, end(3))
        assert await read(bus, 0) == "ab"


@pytest.mark.parametrize("written_after", [True, False])
async def test_readers_notice_that_redis_was_emptied(shared_redis: RedisServer, written_after: bool) -> None:
    """By the next event, or by the silence."""
    make_bus = redis_buses(shared_redis)
    patience = 60 if written_after else 0.3
    async with make_bus(patience=patience) as writer, make_bus(patience=patience) as elsewhere:
        write(writer, ["a"], ended=False)
        await writer.snapshot(TURN)
        seen: list[TurnEvent] = []
        async with anyio.create_task_group() as group:
            for bus in (writer, elsewhere):
                group.start_soon(read_until_lost, bus, 0, seen)
            await until_seen(seen, 2)
            shared_redis.flush()
            if written_after:
                writer.publish(TURN, delta(2, "b"))
        assert {event.seq for event in seen} == {1}
        writer.publish(TURN, delta(3, "c"))
        assert await writer.snapshot(TURN) is None
        assert await elsewhere.follow(TURN, 1) is None


async def test_a_redis_that_dies_and_comes_back(redis_server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with redis_bus(redis_server.url) as bus:
        write(bus, ["a"], ended=False)
        seen: list[TurnEvent] = []
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(read_until_lost, bus, 0, seen)
            await until_seen(seen, 3)
            redis_server.kill()
        for seq in range(2, 50):
            bus.publish(TURN, delta(seq, "b"))
        assert await bus.snapshot(TURN) is None
        assert await bus.follow(TURN, 0) is None
        bus.cancel(TURN)
        write(bus, ["of no use"], turn_id=OTHER_TURN)
        redis_server.start()
        await until_back(bus)
        assert await bus.snapshot(TURN) is None
        bus.publish(OTHER_TURN, delta(1, "new"))
        bus.publish(OTHER_TURN, end(2))
        assert await read(bus, 0, turn_id=OTHER_TURN) == "new"
    assert lines(caplog) == ["Redis is away", "Redis is back"]


async def test_a_redis_that_hangs_keeps_nobody_waiting_and_its_lost_logs_go_when_it_wakes(
    redis_server: RedisServer,
) -> None:
    """Whether or not the last event arrived, nobody may read on in a log that has a hole."""
    hasty, patient = QUICK_TIMEOUT, 60.0
    async with (
        redis_bus(redis_server.url, timeout=hasty) as bus,
        redis_bus(redis_server.url, timeout=patient) as elsewhere,
        anyio.create_task_group() as group,
    ):
        write(bus, ["a"], ended=False)
        await bus.snapshot(TURN)
        seen: list[TurnEvent] = []
        group.start_soon(read_until_lost, elsewhere, 0, seen)
        await until_seen(seen, 1)
        redis_server.freeze()
        bus.publish(TURN, delta(2, "b"))
        with anyio.fail_after(10):
            async with anyio.create_task_group() as readers:
                for _ in range(100):  # More than there are connections.
                    readers.start_soon(bus.snapshot, TURN)
        with anyio.fail_after(10):  # From now on it is known: nobody waits for a timeout.
            for _ in range(100):
                assert await bus.snapshot(TURN) is None
                assert await bus.follow(TURN, 0) is None
        redis_server.thaw()
        await until_back(bus)
        assert await elsewhere.snapshot(TURN) is None


async def test_a_redis_that_takes_no_writes_is_away_until_it_does(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """As a replica after a failover."""
    caplog.set_level(logging.INFO)
    async with redis_bus(redis_server.url) as bus:
        write(bus, ["a"], ended=False)
        await bus.snapshot(TURN)
        with redis_server.client() as client:
            client.replicaof("127.0.0.1", "1")
            bus.publish(TURN, delta(2, "b"))
            assert await bus.snapshot(TURN) is None
            await anyio.sleep(0.2)
            client.replicaof("NO", "ONE")
        await until_back(bus)
    assert lines(caplog) == ["Redis is away", "Redis is back"]


async def test_a_redis_that_was_never_there_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    async with redis_bus(NO_REDIS) as bus:
        write(bus, ["a"])
        bus.drop(TURN)
        bus.cancel(TURN)
        await anyio.sleep(0.1)
        assert await bus.snapshot(TURN) is None
        assert await bus.follow(TURN, 0) is None
    assert lines(caplog) == ["Redis is away"]


async def test_a_queue_that_grows_too_long_is_given_up(redis_server: RedisServer) -> None:
    async with redis_bus(redis_server.url, timeout=60) as bus:
        bus.open(TURN)
        await bus.snapshot(TURN)
        redis_server.freeze()
        for seq in range(1, 25_000):
            bus.publish(TURN, delta(seq, "x"))
        assert await bus.snapshot(TURN) is None
        redis_server.thaw()
        await until_back(bus)
        assert await bus.snapshot(TURN) is None


async def test_readers_who_leave_in_the_middle_leave_no_answer_to_the_next(shared_redis: RedisServer) -> None:
    make_bus = redis_buses(shared_redis)
    async with make_bus() as bus:
        write(bus, ["a"], ended=False)
        write(bus, ["b"], ended=False, turn_id=OTHER_TURN)
        chance = random.Random(1)
        for _ in range(200):
            with anyio.move_on_after(chance.random() * 0.004):
                await bus.snapshot(TURN)
                await (await log_of(bus, 0)).aclose()
            assert await bus.snapshot(OTHER_TURN) == LiveText("b", 1)
        assert await bus.snapshot(TURN) == LiveText("a", 1)
        bus.publish(TURN, end(2))
        assert await read(bus, 0) == "a"


async def test_what_is_queued_at_the_end_is_still_written(shared_redis: RedisServer) -> None:
    make_bus = redis_buses(shared_redis)
    async with make_bus() as bus:
        write(bus, ["x"] * 300)
    async with make_bus() as bus:
        assert await read(bus, 0) == "x" * 300
