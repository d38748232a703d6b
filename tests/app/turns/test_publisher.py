from uuid import UUID

import anyio
import pytest

from app.turns.bus import MemoryBus
from app.turns.live_markdown import RenderingRoom
from app.turns.publisher import Publisher
from app.turns.rhythm import Rhythm

pytestmark = pytest.mark.anyio

TURN = UUID(int=1)


async def published(bus: MemoryBus) -> list[tuple[str, object]]:
    """What is not about HTML, in order."""
    log = await bus.follow(TURN, 0)
    assert log is not None
    events = [event async for event in log]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [(event.kind, event.data.get("text")) for event in events if "html" not in event.data]


async def test_first_text_goes_out_at_once_and_later_text_is_collected() -> None:
    bus = MemoryBus(keep_seconds=60)
    bus.open(TURN)
    publisher = Publisher(bus, TURN, Rhythm(coalesce=0.02, preview=3600), RenderingRoom())
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
    assert await published(bus) == [("delta", "a"), ("delta", "bc"), ("delta", "d"), ("end", None)]
    publisher.close()


async def test_an_event_goes_out_behind_the_text_before_it() -> None:
    bus = MemoryBus(keep_seconds=60)
    bus.open(TURN)
    publisher = Publisher(bus, TURN, Rhythm(coalesce=60), RenderingRoom())
    publisher.text("a")
    publisher.text("b")
    publisher.event("usage", {})
    publisher.flush()
    publisher.event("end", {})
    assert await published(bus) == [("delta", "a"), ("delta", "b"), ("usage", None), ("end", None)]
    publisher.close()
