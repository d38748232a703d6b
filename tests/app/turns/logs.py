"""Writing and reading the logs of buses in tests."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias
from uuid import UUID

import pytest

from app.turns.bus import Bus, LogLost, MemoryBus, RedisBus
from app.turns.events import TurnEvent
from tests.app.houses import until
from tests.app.redis_server import RedisServer

TURN = UUID(int=1)
OTHER_TURN = UUID(int=2)

# What makes a served bus; its keywords are those of the buses.
BusMaker: TypeAlias = Callable[..., AbstractAsyncContextManager[Bus]]


def stop_nothing(turn_id: UUID) -> None:
    raise AssertionError(f"nobody cancels {turn_id} here")


@asynccontextmanager
async def memory_bus(
    *, keep_seconds: float = 60, patience: float = 60, stop: Callable[[UUID], None] = stop_nothing
) -> AsyncIterator[Bus]:
    bus = MemoryBus(keep_seconds=keep_seconds, patience=patience)
    async with bus.serving(stop):
        yield bus


@asynccontextmanager
async def redis_bus(
    url: str,
    *,
    keep_seconds: float = 60,
    patience: float = 60,
    timeout: float = 2.0,
    pause: float = 0.02,
    stop: Callable[[UUID], None] = stop_nothing,
) -> AsyncIterator[Bus]:
    bus = RedisBus(url, keep_seconds=keep_seconds, patience=patience, timeout=timeout, pause=pause)
    async with bus.serving(stop):
        yield bus


def redis_buses(server: RedisServer) -> BusMaker:
    server.flush()
    return lambda **changes: redis_bus(server.url, **changes)


def delta(seq: int, text: str) -> TurnEvent:
    return TurnEvent(seq, "delta", {"text": text})


def end(seq: int) -> TurnEvent:
    return TurnEvent(seq, "end", {"status": "completed"})


def write(bus: Bus, texts: Sequence[str], *, ended: bool = True, turn_id: UUID = TURN) -> None:
    """A whole log."""
    bus.open(turn_id)
    for seq, text in enumerate(texts, start=1):
        bus.publish(turn_id, delta(seq, text))
    if ended:
        bus.publish(turn_id, end(len(texts) + 1))


async def log_of(bus: Bus, after: int, turn_id: UUID = TURN) -> AsyncGenerator[TurnEvent, None]:
    log = await bus.follow(turn_id, after)
    assert log is not None
    return log


async def read(bus: Bus, after: int, text: str = "", turn_id: UUID = TURN) -> str:
    """What a reader shows in the end who already has `text`."""
    async for event in await log_of(bus, after, turn_id):
        if event.kind == "delta":
            text += str(event.data["text"])
        elif event.kind == "reset":
            text = str(event.data["text"])
    return text


async def read_until_lost(bus: Bus, after: int, seen: list[TurnEvent]) -> None:
    with pytest.raises(LogLost):
        await _collect(await log_of(bus, after), seen)


async def _collect(log: AsyncGenerator[TurnEvent, None], seen: list[TurnEvent]) -> None:
    async for event in log:
        seen.append(event)  # noqa: PERF401 - what came before an error counts


async def until_seen(seen: list[TurnEvent], count: int) -> None:
    """Until readers have collected so many events together."""

    async def are_seen() -> bool:
        return len(seen) >= count

    await until(are_seen)
