"""The measured speed of reading prompts: sum over sum, of the last day's turns that say something of it."""

import pytest

from app.database import Database
from app.models import Turn
from app.turns.prefill_speed import prefill_speeds
from tests.app.houses import MovingClock

pytestmark = pytest.mark.anyio


async def add(
    database: Database, clock: MovingClock, computed: int | None, prefill_ms: int | None, **values: object
) -> None:
    """A turn that computed `computed` tokens, 100 of them as cache creation."""
    turn = {
        "purpose": "chat", "kind": "question", "prompt_format": 1, "status": "completed", "backend": "scripted",
        "input_tokens": None if computed is None else computed - 100, "cache_creation_input_tokens": 100,
        "prefill_ms": prefill_ms, "created_at": clock(), **values,
    }  # fmt: skip
    async with database.write() as session:
        session.add(Turn(**turn))


async def measured(database: Database, clock: MovingClock) -> float | None:
    async with database.read() as session:
        return (await prefill_speeds(session, ["scripted"], clock())).get("scripted")


async def test_speed_is_computed_tokens_over_prefill_time(database: Database, clock: MovingClock) -> None:
    assert await measured(database, clock) is None
    await add(database, clock, 1000, 500)
    await add(database, clock, 3000, 3500)
    assert await measured(database, clock) == pytest.approx(1000.0)


async def test_turns_that_say_nothing_of_the_speed_are_left_out(database: Database, clock: MovingClock) -> None:
    await add(database, clock, 127, 9000)
    await add(database, clock, None, 9000)
    await add(database, clock, 1000, None)
    await add(database, clock, 1000, 0)
    await add(database, clock, 1000, 9000, backend="other")
    assert await measured(database, clock) is None
    await add(database, clock, 128, 64)
    assert await measured(database, clock) == pytest.approx(2000.0)


async def test_turns_of_yesterday_are_left_out(database: Database, clock: MovingClock) -> None:
    await add(database, clock, 1000, 500)
    clock.advance(hours=23)
    assert await measured(database, clock) is not None
    clock.advance(hours=2)
    assert await measured(database, clock) is None
