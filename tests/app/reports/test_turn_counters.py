"""Totals of all turns: the layers add up, nothing falls, and every process tells the same."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update

from app.cache_outcomes import Outcome
from app.database import Database
from app.models import RemovedTurns, Turn
from app.reports.turn_counters import SETTLING, STEP, TurnCounters
from app.reports.turn_counts import TurnGroup, at_most, keep_counts
from tests.app.houses import START, MovingClock

pytestmark = pytest.mark.anyio


def turn(outcome: Outcome | None, **changes: Any) -> Turn:
    """30 prompt tokens, 20 of them read, unless `changes` say otherwise."""
    values: dict[str, Any] = {
        "purpose": "chat",
        "kind": "question",
        "prompt_format": 1,
        "status": "completed",
        "backend": "a",
        "model": "m",
        "input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 20,
        "output_tokens": 5,
        "outcome": outcome,
        "fault": None if outcome is None else outcome.is_fault,
        "created_at": START - timedelta(days=1),
    }
    return Turn(**{**values, **changes})


async def add(database: Database, *turns: Turn) -> None:
    async with database.write() as session:
        session.add_all(turns)


async def ended(database: Database, clock: MovingClock) -> dict[TurnGroup, Counter[str]]:
    return (await TurnCounters(database, clock).read()).ended


def whole(counts: dict[TurnGroup, Counter[str]]) -> Counter[str]:
    return sum(counts.values(), Counter())


async def test_layers_of_each_outcome_add_up_to_the_prompt(database: Database, clock: MovingClock) -> None:
    missed = {"expected_read_tokens": 28, "shortfall_tokens": 8}
    await add(
        database,
        turn(Outcome.FIRST_TURN, cache_read_input_tokens=0),
        turn(Outcome.HIT, expected_read_tokens=20, shortfall_tokens=0),
        turn(Outcome.EVICTED, **missed),
        turn(Outcome.EVICTED, **missed, law_mismatch=True),
        turn(Outcome.SYSTEM_PROMPT_EDITED, **missed),
        turn(Outcome.BLOCK_ROUNDING, **missed),
        turn(Outcome.UNKNOWN, expected_read_tokens=40, shortfall_tokens=9),
        turn(Outcome.NOT_REPORTED, cache_read_input_tokens=None, output_tokens=None),
        turn(Outcome.NOT_SENT, status="failed", backend=None, model=None, input_tokens=None, output_tokens=None),
    )
    counts = await ended(database, clock)
    total = whole(counts)
    assert (total["turns"], total["reported_turns"], total["law_mismatches"]) == (9, 7, 1)
    assert (total["prompt_tokens"], total["cached_tokens"], total["computed_tokens"]) == (190, 120, 70)
    assert (total["lost_tokens"], total["on_purpose_tokens"], total["rounding_tokens"]) == (16, 8, 17)
    layers = ("cached_tokens", "new_tokens", "lost_tokens", "on_purpose_tokens", "rounding_tokens")
    assert sum(total[layer] for layer in layers) == total["prompt_tokens"]
    # The last token of a prompt is always computed, so no more than 29 of 30 can be expected.
    assert (total["expected_tokens"], total["output_tokens"]) == (20 + 4 * 28 + 29, 35)
    assert counts[TurnGroup("a", "m", "completed", "evicted")]["lost_tokens"] == 16
    assert counts[TurnGroup("", "", "failed", "not_sent")] == Counter(turns=1)


async def test_probes_and_imported_turns_are_not_counted_and_live_ones_apart(
    database: Database, clock: MovingClock
) -> None:
    await add(
        database,
        turn(Outcome.HIT, purpose="probe"),
        turn(Outcome.HIT, imported_at=START),
        turn(None, status="queued", created_at=START),
        turn(None, status="running", created_at=START - timedelta(days=2)),
        turn(None, status="running", created_at=START),
    )
    totals = await TurnCounters(database, clock).read()
    assert totals.ended == {}
    assert totals.live == {"queued": 1, "running": 2}


async def test_times_fall_into_every_bucket_that_they_fit(database: Database, clock: MovingClock) -> None:
    await add(
        database, *(turn(Outcome.HIT, time_to_first_token_ms=taken, duration_ms=9) for taken in (0, 50, 51, None))
    )
    total = whole(await ended(database, clock))
    assert (total["first_token"], total["first_token_ms"], total["duration"]) == (3, 101, 4)
    assert [total[at_most("first_token", bound)] for bound in (50, 100, 120_000)] == [2, 3, 3]


async def test_turns_that_end_late_are_counted_once_by_old_and_new_processes(
    database: Database, clock: MovingClock
) -> None:
    """A turn that was live when the past was counted, and others of every age since."""
    long = turn(None, status="running", created_at=START - timedelta(hours=1))
    await add(database, turn(Outcome.HIT), long, turn(Outcome.HIT, created_at=START - timedelta(minutes=30)))
    old = TurnCounters(database, clock)
    assert whole((await old.read()).ended)["turns"] == 2
    for minutes in (1, 4, 6, 30, 120):
        clock.advance(minutes=minutes)
        await add(database, turn(Outcome.HIT, created_at=clock.now))
        if minutes == 30:
            async with database.write() as session:
                ends = update(Turn).where(Turn.status == "running").values(status="stopped", outcome="hit", fault=False)
                await session.execute(ends)
        again = await old.read()
        assert again == await TurnCounters(database, clock).read()
        async with database.read() as session:
            assert whole(again.ended)["turns"] == await session.scalar(
                select(func.count()).where(Turn.status.in_(["completed", "stopped"]))
            )
    assert again.live == {"queued": 0, "running": 0}


async def test_the_past_is_counted_once(database: Database, clock: MovingClock) -> None:
    """What was changed by hand is seen only by a new process; nothing of ours changes it."""
    await add(database, turn(Outcome.HIT))
    totals = TurnCounters(database, clock)
    await totals.read()
    clock.advance(seconds=(SETTLING + STEP).total_seconds())
    async with database.write() as session:
        await session.execute(delete(Turn))
    assert whole((await totals.read()).ended)["turns"] == 1
    assert (await ended(database, clock)) == {}


async def test_turns_that_are_removed_stay_in_the_totals(database: Database, clock: MovingClock) -> None:
    """One after the other, so that counts are begun and added to; one has no backend and no outcome."""
    missed = {"expected_read_tokens": 28, "shortfall_tokens": 8, "time_to_first_token_ms": 70}
    turns = [turn(Outcome.EVICTED, **missed) for _ in range(3)]
    turns.append(turn(None, status="failed", backend=None, model=None, input_tokens=None))
    turns.append(turn(Outcome.HIT, imported_at=START))
    await add(database, *turns)
    before = await ended(database, clock)
    assert whole(before)["turns"] == 4
    for removed in turns:
        async with database.write() as session:
            await keep_counts(session, [removed.id])
            await session.execute(delete(Turn).where(Turn.id == removed.id))
        assert await ended(database, clock) == before


async def test_large_counts_fit(database: Database, clock: MovingClock) -> None:
    key = {"backend": "a", "model": "m", "status": "completed", "outcome": "hit"}
    async with database.write() as session:
        session.add(RemovedTurns(**key, measure="prompt_tokens", amount=2**40))
    await add(database, turn(Outcome.HIT))
    assert (await ended(database, clock))[TurnGroup(**key)]["prompt_tokens"] == 2**40 + 30
