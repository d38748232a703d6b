from uuid import UUID

import anyio
import pytest

from app.turns.bus import MemoryBus
from app.turns.publisher import Publisher

pytestmark = pytest.mark.anyio

TURN = UUID(int=1)


async def published(bus: MemoryBus) -> list[tuple[int, str, object]]:
    log = await bus.follow(TURN, 0)
    assert log is not None
    return [(event.seq, event.kind, event.data.get("text")) async for event in log]


async def test_first_text_goes_out_at_once_and_later_text_is_collected() -> None:
    bus = MemoryBus(keep_seconds=60)
    bus.open(TURN)
    publisher = Publisher(bus, TURN, interval=0.02)
    publisher.text("a")
    publisher.text("b")
    publisher.text("c")
    snapshot = await bus.snapshot(TURN)
    assert snapshot is not None
    assert snapshot.text == "a"
    while snapshot.text == "a":
        await anyio.sleep(0.005)
        snapshot = await bus.snapshot(TURN)
        assert snapshot is not None
    publisher.text("d")
    publisher.event("end", {"status": "completed"})
    expected = [(1, "delta", "a"), (2, "delta", "bc"), (3, "delta", "d"), (4, "end", None)]
    assert await published(bus) == expected


async def test_an_event_goes_out_behind_the_text_before_it() -> None:
    bus = MemoryBus(keep_seconds=60)
    bus.open(TURN)
    publisher = Publisher(bus, TURN, interval=60)
    publisher.text("a")
    publisher.text("b")
    publisher.event("usage", {})
    publisher.flush()
    publisher.event("end", {})
    expected = [(1, "delta", "a"), (2, "delta", "b"), (3, "usage", None), (4, "end", None)]
    assert await published(bus) == expected
