from collections.abc import AsyncIterator
from uuid import UUID

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversations import LiveText
from app.turns.bus import LONGEST_LOG, MemoryBus
from app.turns.events import TurnEvent

pytestmark = pytest.mark.anyio

TURN = UUID(int=1)


def delta(seq: int, text: str) -> TurnEvent:
    return TurnEvent(seq, "delta", {"text": text})


def end(seq: int) -> TurnEvent:
    return TurnEvent(seq, "end", {"status": "completed"})


def bus_with(*texts: str, ended: bool = True) -> MemoryBus:
    bus = MemoryBus(keep_seconds=60)
    bus.open(TURN)
    for seq, text in enumerate(texts, start=1):
        bus.publish(TURN, delta(seq, text))
    if ended:
        bus.publish(TURN, end(len(texts) + 1))
    return bus


async def read(log: AsyncIterator[TurnEvent] | None, text: str = "") -> str:
    """What a reader shows who already has `text`."""
    assert log is not None
    async for event in log:
        if event.kind == "delta":
            text += str(event.data["text"])
        elif event.kind == "reset":
            text = str(event.data["text"])
    return text


@given(st.lists(st.text(), max_size=8), st.data())
def test_a_reader_who_comes_back_anywhere_has_the_same_text(texts: list[str], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(texts)))
    bus = bus_with(*texts)
    assert anyio.run(read, bus.follow(TURN, cut), "".join(texts[:cut])) == "".join(texts)


async def test_a_reader_from_the_future_is_reset() -> None:
    assert await read(bus_with("a", "b").follow(TURN, 99), "nonsense") == "ab"


async def test_a_reader_behind_a_trimmed_log_is_reset() -> None:
    texts = ["x"] * (LONGEST_LOG + 10)
    bus = bus_with(*texts)
    assert await read(bus.follow(TURN, 3), "xxx") == "".join(texts)
    assert await read(bus.follow(TURN, LONGEST_LOG), "x" * LONGEST_LOG) == "".join(texts)


async def test_a_reader_waits_for_what_comes() -> None:
    bus = bus_with("a", ended=False)
    texts: list[str] = []

    async def reader() -> None:
        texts.append(await read(bus.follow(TURN, 0)))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(reader)
        await anyio.wait_all_tasks_blocked()
        bus.publish(TURN, delta(2, "b"))
        await anyio.wait_all_tasks_blocked()
        bus.publish(TURN, end(3))
    assert texts == ["ab"] * 3


async def test_a_reader_with_everything_gets_nothing() -> None:
    log = bus_with("a").follow(TURN, 2)
    assert log is not None
    assert [event async for event in log] == []


async def test_drop_ends_readers_and_forgets_the_text() -> None:
    bus = bus_with("a", ended=False)
    log = bus.follow(TURN, 0)
    bus.drop(TURN)
    bus.drop(TURN)
    bus.publish(TURN, delta(2, "late"))
    assert await read(log) == "a"
    assert bus.snapshot(TURN) is None
    assert bus.follow(TURN, 0) is None


def test_snapshot_has_text_and_cursor_of_the_same_moment() -> None:
    assert bus_with("a", "b", ended=False).snapshot(TURN) == LiveText("ab", 2)


def test_sweep_forgets_logs_that_ended_a_while_ago() -> None:
    now = 0.0
    bus = MemoryBus(keep_seconds=60, monotonic=lambda: now)
    live = UUID(int=2)
    bus.open(TURN)
    bus.open(live)
    bus.publish(TURN, end(1))
    now = 59.0
    bus.sweep()
    assert bus.snapshot(TURN) is not None
    now = 60.0
    bus.sweep()
    assert bus.snapshot(TURN) is None
    assert bus.snapshot(live) is not None
