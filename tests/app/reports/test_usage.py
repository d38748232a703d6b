from datetime import date, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from app.house import House
from app.reports import Usage, Used
from tests.app.houses import MovingClock, add_user, ask
from tests.scripted_backend import ScriptedBackend, answer, delta, ending, message_start

pytestmark = pytest.mark.anyio

NOTHING = Used(None, 0)
SEOUL = ZoneInfo("Asia/Seoul")


def script(backend: ScriptedBackend, computed: int, read: int, written: int) -> None:
    usage = {"input_tokens": computed, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}
    backend.script(*answer("a", usage=usage, output_tokens=written))


async def test_sums_cover_the_turns_that_reported(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    assert await house.usages.total(anna) == Usage(0, NOTHING, NOTHING, NOTHING, NOTHING)
    backend.script(message_start(), delta("b"), *ending(output_tokens=2))
    await ask(house, anna)
    assert await house.usages.total(anna) == Usage(1, NOTHING, NOTHING, NOTHING, Used(2, 1))
    script(backend, 0, 0, 4)
    await ask(house, anna)
    assert (await house.usages.total(anna)).prompt == Used(0, 1)
    script(backend, 8, 19, 4)
    await ask(house, anna)
    script(backend, 1000, 1000, 1000)
    await ask(house, await add_user(house.database, "Berta"))
    total = await house.usages.total(anna)
    assert total == Usage(3, Used(27, 2), Used(19, 2), Used(8, 2), Used(10, 3))
    today = house.clock().date()
    days = await house.usages.by_day(anna, today, 1, ZoneInfo("UTC"))
    assert [(each.day, each.usage) for each in days] == [(today, total)]


async def test_days_are_those_of_the_readers_calendar(
    house: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend
) -> None:
    """14:59 UTC is the last minute of the day in Seoul, and 15:00 the first one of the next."""
    for hour, minute, computed in ((14, 59, 1), (15, 0, 10)):
        clock.now = clock.now.replace(hour=hour, minute=minute)
        script(backend, computed, 0, 4)
        await ask(house, anna)
    today = clock.now.astimezone(SEOUL).date()
    days = await house.usages.by_day(anna, today, 3, SEOUL)
    assert [each.day for each in days] == [today - timedelta(days=2), today - timedelta(days=1), today]
    assert [each.usage.prompt.tokens for each in days] == [None, 1, 10]
    assert [each.usage.turns for each in days] == [0, 1, 1]
    (utc,) = await house.usages.by_day(anna, clock.now.date(), 1, ZoneInfo("UTC"))
    assert utc.usage.prompt == Used(11, 2)
    assert [each.usage.turns for each in await house.usages.by_day(anna, date(2020, 1, 2), 2, SEOUL)] == [0, 0]
