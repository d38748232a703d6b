"""Reports that read the sums of ended days say the same as those that read every turn, whatever happens to these."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import pytest
from hypothesis import given
from hypothesis import settings as given_settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, select, update

from app.cache_outcomes import Outcome
from app.database import Database
from app.house import open_house
from app.models import SummedDay, Turn, TurnSums
from app.reports import Overviews
from app.reports.day_sums import MOST_DAYS, DaySums
from app.reports.overview import Selection, Series, Tiles, Totals
from app.reports.time_histograms import count, decode, encode
from app.summed_days import forget_days_of
from tests.app.houses import QUICK, START, MovingClock, add_user, ask, settings_for, until
from tests.app.reports.made_turns import BACKENDS, MODELS, MOMENTS, add_owners, replace_turns, turn_rows
from tests.app.reports.test_overviews import A_FEW
from tests.app.reports.test_turn_counters import turn

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)
ALL = Selection(None, START)
# A whole hour, half an hour, and a quarter of one behind the others.
ZONES = ("UTC", "Asia/Seoul", "Asia/Kolkata", "Asia/Kathmandu")
_long = st.builds(
    Selection,
    st.sampled_from([None, MOMENTS[7], MOMENTS[7] - DAY, MOMENTS[7].replace(hour=0, minute=0), START - 9 * DAY]),
    st.sampled_from([START + timedelta(seconds=1), START, START.replace(hour=0, minute=0), MOMENTS[6]]),
    st.sampled_from(MODELS),
    st.sampled_from(BACKENDS),
    st.none(),
)


@pytest.fixture
def overviews(database: Database) -> Overviews:
    return Overviews(database)


@pytest.fixture
def day_sums(database: Database, clock: MovingClock) -> DaySums:
    return DaySums(database, clock)


async def read(
    overviews: Overviews, selection: Selection, zone: str = "UTC"
) -> tuple[Tiles, dict[str, Totals], Series]:
    return (
        await overviews.tiles(selection),
        await overviews.totals(selection, ["", "a", "one", "two"]),
        await overviews.series(selection, ZoneInfo(zone)),
    )


async def summed(database: Database) -> list[date]:
    async with database.read() as session:
        return list(await session.scalars(select(SummedDay.day).order_by(SummedDay.day)))


async def add(database: Database, *turns: Turn) -> None:
    async with database.write() as session:
        session.add_all(turns)


async def stored_tokens(database: Database) -> int | None:
    async with database.read() as session:
        return await session.scalar(select(func.sum(TurnSums.prompt)))


@given_settings(A_FEW, max_examples=10)
@given(rows=turn_rows(), selection=_long, zone=st.sampled_from(ZONES), sweeps=st.integers(1, 5))
async def test_reports_say_the_same_with_sums_and_without(
    database: Database,
    overviews: Overviews,
    day_sums: DaySums,
    rows: list[dict[str, Any]],
    selection: Selection,
    zone: str,
    sweeps: int,
) -> None:
    async with database.write() as session:
        await session.execute(delete(SummedDay))
    if not (await overviews.choices()).users:
        await add_owners(database)
    await replace_turns(database, rows)
    before = await read(overviews, selection, zone)
    for _ in range(sweeps):
        await day_sums.sweep()
    assert await read(overviews, selection, zone) == before


async def test_the_sums_are_what_is_read(database: Database, overviews: Overviews, day_sums: DaySums) -> None:
    first, old = START - 3 * DAY, START - 2 * DAY
    timed = (turn(Outcome.HIT, created_at=old, time_to_first_token_ms=time) for time in (100, 300))
    await add(database, turn(Outcome.HIT, created_at=first), *timed)
    await day_sums.sweep()
    before = await read(overviews, ALL)
    async with database.write() as session:
        await session.execute(delete(Turn).where(Turn.created_at == old))
    assert await read(overviews, ALL) == before
    assert (before[0].turns, before[1]["a"].prompt.tokens) == (3, 90)


async def test_a_day_is_summed_once_it_has_ended_and_nothing_of_it_can_change(
    database: Database, day_sums: DaySums, clock: MovingClock
) -> None:
    midnight = START.replace(hour=0, minute=0)
    live = turn(None, status="running", created_at=midnight - 3 * DAY)
    await add(database, live, turn(Outcome.HIT, created_at=midnight - DAY), turn(Outcome.HIT, created_at=midnight))
    clock.now = midnight + timedelta(minutes=9, seconds=59)
    await day_sums.sweep()
    days = [midnight.date() - number * DAY for number in (2, 1)]
    assert await summed(database) == days[:1]
    clock.advance(seconds=1)
    await day_sums.sweep()
    assert await summed(database) == days
    async with database.write() as session:
        await session.execute(update(Turn).where(Turn.outcome.is_(None)).values(status="completed", outcome="hit"))
    await day_sums.sweep()
    assert await summed(database) == [midnight.date() - 3 * DAY, *days]


async def test_a_long_past_is_summed_a_few_days_at_a_time(database: Database, day_sums: DaySums) -> None:
    await add(database, turn(Outcome.HIT, created_at=START - (MOST_DAYS + 3) * DAY))
    await day_sums.sweep()
    assert len(await summed(database)) == MOST_DAYS
    await day_sums.sweep()
    assert len(await summed(database)) == MOST_DAYS + 3


async def test_two_processes_sum_each_day_once(database: Database, database_url: str, clock: MovingClock) -> None:
    await add(database, *(turn(Outcome.HIT, created_at=START - number * DAY) for number in range(1, 8)))
    other = Database(database_url)
    async with anyio.create_task_group() as group:
        for each in (database, other, database):
            group.start_soon(DaySums(each, clock).sweep)
    await other.close()
    assert len(await summed(database)) == 7
    assert await stored_tokens(database) == 7 * 30


async def test_who_sums_waits_for_who_changes(database: Database, database_url: str, clock: MovingClock) -> None:
    """What is not yet committed when a day is due is in its sums all the same, or these are forgotten."""
    changed = turn(Outcome.HIT, created_at=START - DAY)
    await add(database, changed)
    other = Database(database_url)
    async with anyio.create_task_group() as group, database.write() as session:
        await session.execute(update(Turn).values(input_tokens=1_010))
        await forget_days_of(session, [changed.created_at])
        group.start_soon(DaySums(other, clock).sweep)
        await anyio.sleep(0.2)
        assert await summed(database) == []
    await other.close()
    assert await stored_tokens(database) == 1_030


async def test_a_change_forgets_the_days_of_its_turns_alone(database: Database, day_sums: DaySums) -> None:
    await add(database, *(turn(Outcome.HIT, created_at=START - number * DAY) for number in (1, 2)))
    await day_sums.sweep()
    async with database.write() as session:
        await forget_days_of(session, [])
        await forget_days_of(session, [START - DAY])
    assert await summed(database) == [(START - 2 * DAY).date()]
    assert await stored_tokens(database) == 30


async def test_probes_and_imported_turns_are_not_in_the_sums(database: Database, day_sums: DaySums) -> None:
    await add(database, turn(Outcome.HIT), turn(Outcome.HIT, purpose="probe"), turn(Outcome.HIT, imported_at=START))
    await day_sums.sweep()
    assert await stored_tokens(database) == 30


async def test_no_turns_have_no_days(database: Database, day_sums: DaySums) -> None:
    await day_sums.sweep()
    assert await summed(database) == []


_times = st.lists(st.one_of(st.integers(0, 3_000), st.integers(0, 2**31 - 1)), min_size=1)


@given(some=_times, more=_times)
def test_histograms_behind_each_other_are_that_of_all_times(some: list[int], more: list[int]) -> None:
    first, second = (",".join(map(str, times)) for times in (some, more))
    found = decode(encode(first) + encode(second))
    assert found == count(f"{first},{second}", exact=False)
    for lowest, time in zip(sorted(found.elements()), sorted([*some, *more]), strict=True):
        assert lowest <= time <= lowest + max(0, lowest >> 6)


async def test_it_runs_beside_requests(database_url: str, backend_url: str, clock: MovingClock) -> None:
    settings = settings_for(database_url, backend_url)
    async with open_house(settings, clock=clock, rhythm=replace(QUICK, sweep=0.02)) as house:
        await ask(house, await add_user(house.database), "Old")
        before = await house.overviews.tiles(Selection(None, clock() + 2 * DAY))
        clock.advance(days=2)

        async def is_summed() -> bool:
            return await summed(house.database) == [START.date(), (START + DAY).date()]

        await until(is_summed)
        assert await house.overviews.tiles(Selection(None, clock())) == before
        assert before.turns == 1
