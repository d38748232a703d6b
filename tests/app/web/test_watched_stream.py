"""A stream ends when its reader may no longer read it, and only then."""

import asyncio
from collections.abc import AsyncIterator

import anyio
import pytest

from app.web.watched_stream import while_allowed

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Permission:
    """Says yes until it is taken back; counts the questions. A broken one cannot answer."""

    def __init__(self, *, broken: bool = False) -> None:
        self.given = True
        self.asked = 0
        self.broken = broken

    async def __call__(self) -> bool:
        self.asked += 1
        if self.broken:
            raise OSError("away")
        return self.given


async def numbers(count: int, pause: float = 0.0) -> AsyncIterator[int]:
    for number in range(1, count + 1):
        await asyncio.sleep(pause)
        yield number


async def test_all_events_come_to_whoever_is_allowed() -> None:
    permission = Permission()
    assert [event async for event in while_allowed(numbers(20, 0.01), permission, 0.03)] == list(range(1, 21))
    assert permission.asked > 1


async def test_a_silent_stream_ends_when_the_permission_does() -> None:
    permission = Permission()
    closed = asyncio.Event()

    async def silent() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            closed.set()

    seen = []
    async for event in while_allowed(silent(), permission, 0.01):
        seen.append(event)
        permission.given = False
    assert seen == [1]
    assert closed.is_set()


async def test_a_busy_stream_ends_too() -> None:
    permission = Permission()
    seen = []
    async for event in while_allowed(numbers(100_000), permission, 0.02):
        seen.append(event)
        permission.given = False
    assert 0 < len(seen) < 100_000


async def test_a_silent_stream_ends_at_once_when_the_server_does() -> None:
    closing = anyio.Event()

    async def silent() -> AsyncIterator[int]:
        yield 1
        closing.set()
        await asyncio.Event().wait()

    assert [event async for event in while_allowed(silent(), Permission(), 3600, closing)] == [1]


async def test_a_question_that_fails_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    permission = Permission(broken=True)
    assert [event async for event in while_allowed(numbers(10, 0.01), permission, 0.02)] == list(range(1, 11))
    assert permission.asked > 1
    assert "could not be checked" in caplog.text


async def test_nobody_is_asked_after_the_end() -> None:
    permission = Permission()
    stream = while_allowed(numbers(3), permission, 0.01)
    assert await anext(stream) == 1
    await stream.aclose()  # type: ignore[attr-defined]
    asked = permission.asked
    await asyncio.sleep(0.05)
    assert permission.asked == asked
