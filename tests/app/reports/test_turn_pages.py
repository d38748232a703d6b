"""Lists of turns page by page, what is live and what can be chosen; and that reports use the indexes made for them."""

from datetime import timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import insert

from app.cache_outcomes import Group, Outcome
from app.conversations.paging import MomentMark
from app.database import Database
from app.models import ServingEvent, Turn
from app.reports import Overviews
from app.reports.marks import RankMark
from app.reports.measures import COUNTED, MISSED
from app.reports.overview import LiveTurns, Selection
from app.reports.series import step_for
from tests.app.houses import START
from tests.app.reports.made_turns import CONVERSATIONS, add_owners, replace_turns

pytestmark = pytest.mark.anyio
ALL = Selection(None, START + timedelta(seconds=1))


def row(number: int, outcome: Outcome | None = Outcome.HIT, minutes: int = 0, **changes: object) -> dict[str, object]:
    values = {
        "id": UUID(int=number),
        "conversation_id": CONVERSATIONS[0],
        "purpose": "chat",
        "kind": "question",
        "prompt_format": 1,
        "params": "{}",
        "model": "small",
        "backend": "one",
        "status": "completed",
        "outcome": outcome,
        "fault": outcome is not None and outcome.is_fault,
        "shortfall_tokens": None,
        "error_type": None,
        "imported_at": None,
        "created_at": START - timedelta(minutes=minutes),
    }
    return values | changes


@pytest.fixture
async def overviews(database: Database) -> Overviews:
    await add_owners(database)
    return Overviews(database)


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
async def test_pages_have_every_turn_once_and_the_newest_first(
    database: Database, overviews: Overviews, limit: int
) -> None:
    rows = [row(number, minutes=number // 4) for number in range(1, 12)]
    await replace_turns(database, rows)
    found, after = [], None
    while True:
        page = await overviews.turns(ALL, after=after, limit=limit)
        found += page.rows
        if page.after is None:
            break
        after = MomentMark.parse(str(page.after))
    assert [each.id.int for each in found] == [3, 2, 1, 7, 6, 5, 4, 11, 10, 9, 8]
    assert [each async for each in overviews.every_turn(ALL, chunk=limit)] == found
    assert (found[0].reference, found[0].owner_name) == ("c1", "Anna")


async def test_turns_are_narrowed(database: Database, overviews: Overviews) -> None:
    await replace_turns(
        database,
        [
            row(1),
            row(2, Outcome.EVICTED),
            row(3, Outcome.EXPIRED, conversation_id=None),
            row(4, Outcome.NOT_SENT, status="failed", error_type="overloaded"),
            row(5, None, status="running"),
            row(6, Outcome.EVICTED, imported_at=START),
            row(7, Outcome.EVICTED, purpose="probe"),
        ],
    )

    async def ids(**narrowed: object) -> list[int]:
        return [each.id.int for each in (await overviews.turns(ALL, **narrowed)).rows]

    assert await ids() == [5, 4, 3, 2, 1]
    assert await ids(outcome=Outcome.EVICTED) == [2]
    assert await ids(group=Group.CAPACITY) == [3, 2]
    assert await ids(outcome=Outcome.PENDING) == [5]
    assert await ids(group=Group.CANNOT_TELL) == [5, 4]
    assert await ids(status="failed") == [4]
    assert await ids(error_type="overloaded", outcome=Outcome.NOT_SENT) == [4]
    assert [each.id.int async for each in overviews.every_turn(ALL, group=Group.CAPACITY)] == [3, 2]
    assert [(each.error_type, each.turns) for each in await overviews.errors(ALL)] == [("overloaded", 1)]
    assert await overviews.running_and_queued() == LiveTurns(1, 0)
    choices = await overviews.choices()
    assert (choices.models, choices.backends) == (("small",), ("one",))
    assert [name for _, name in choices.users] == ["Anna", "Berta"]


async def test_a_problem_goes_on_while_it_is_among_the_last_turns_or_recent(
    database: Database, overviews: Overviews
) -> None:
    later = [row(100 + number, minutes=10) for number in range(9)]
    old = row(1, Outcome.EVICTED, minutes=120, shortfall_tokens=5)

    async def goes_on(rows: list[dict[str, object]], minutes: int = 0) -> bool:
        await replace_turns(database, rows)
        (problem,) = (await overviews.problems(ALL, START + timedelta(minutes=minutes))).faults
        return problem.ongoing

    assert await goes_on([old, *later])
    assert not await goes_on([old, *later, row(200, minutes=5)])
    assert await goes_on([old, *later, row(200, minutes=5, model="large")])
    recent = row(1, Outcome.EVICTED, minutes=30, shortfall_tokens=5)
    assert await goes_on([recent, *later, row(200, minutes=5)])
    assert not await goes_on([recent, *later, row(200, minutes=5)], minutes=31)


async def test_buckets_begin_at_whole_steps_of_the_zone_and_marks_are_within(
    database: Database, overviews: Overviews
) -> None:
    await replace_turns(database, [row(1, minutes=60 * 24 * 60)])
    events = [
        {"id": UUID(int=number), "kind": "server_start", "backend": backend, "serving_id": str(number), "at": at}
        for number, (backend, at) in enumerate(
            [("one", START), ("two", START), (None, START), ("one", START + timedelta(days=1))]
        )
    ]
    async with database.write() as session:
        await session.execute(insert(ServingEvent), events)
    series = await overviews.series(ALL, ZoneInfo("Asia/Seoul"))
    assert series.step == timedelta(days=1)
    assert {bucket.start.astimezone(ZoneInfo("Asia/Seoul")).hour for bucket in series.buckets} == {0}
    assert sum(bucket.turns for bucket in series.buckets) == series.buckets[0].turns == 1
    assert len(series.marks) == 3
    only = await overviews.series(Selection(None, ALL.until, backend="one"))
    assert [mark.backend for mark in only.marks] == ["one", None]


async def test_nothing_selected_is_nothing_and_no_error(overviews: Overviews) -> None:
    for selection in (ALL, Selection(START, START), Selection(START - timedelta(days=1), START)):
        tiles = await overviews.tiles(selection)
        assert (tiles.turns, tiles.reuse.of, tiles.hits.of, tiles.first_token.total) == (0, 0, 0, None)
        assert (await overviews.totals(selection, ["one"]))["one"].prompt.turns == 0
        assert (await overviews.problems(selection, START)).faults == ()
        assert (await overviews.ranking(selection)).rows == ()
        assert sum(bucket.turns for bucket in (await overviews.series(selection)).buckets) == 0


def test_steps_make_at_most_a_hundred_buckets() -> None:
    assert step_for(timedelta(hours=1)) == 60
    assert step_for(timedelta(hours=24)) == 900
    assert step_for(timedelta(days=90)) == 86_400
    for hours in range(1, 24 * 800, 11):
        assert 1 <= hours * 3_600 / step_for(timedelta(hours=hours)) <= 99


def test_marks_of_pages_are_read_as_they_are_written() -> None:
    for mark in (MomentMark(START, UUID(int=1)), RankMark(-1, UUID(int=1))):
        assert type(mark).parse(str(mark)) == mark
    for wrong in ("", "~", f"x~{UUID(int=1)}", f"2026-01-01~{UUID(int=1)}", f"{2**63}~{UUID(int=1)}", "1~1"):
        assert MomentMark.parse(wrong) is None
        assert RankMark.parse(wrong) is None


def test_conditions_are_those_of_the_indexes() -> None:
    """Else a database would not use them, and go through all turns."""
    conditions = {index.name: str(index.dialect_options["sqlite"]["where"]) for index in Turn.__table__.indexes}
    missed, counted = (str(condition).replace("turns.", "") for condition in (MISSED, COUNTED))
    assert conditions["ix_turns_missed"] == f"{missed} AND {counted}"
    assert conditions["ix_turns_places"] == counted
