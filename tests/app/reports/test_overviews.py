"""Every report of the overview equals a plain computation over the same rows, whatever they are."""

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.cache_outcomes import FAULTS, ON_PURPOSE, Outcome
from app.database import Database
from app.reports import Overviews
from app.reports.measures import ROUNDED
from app.reports.overview import Neighbours, Problem, Rate, Selection
from app.reports.ranking import RankingSort
from tests.app.houses import START
from tests.app.reports import plain_sums as plain
from tests.app.reports.made_turns import (
    BACKENDS,
    CONVERSATIONS,
    MODELS,
    MOMENTS,
    add_owners,
    replace_turns,
    turn_rows,
)

pytestmark = pytest.mark.anyio

ALL = Selection(None, START + timedelta(seconds=1))
SORTS: tuple[RankingSort, ...] = ("lost", "reuse", "turns", "first_token", "recent")
A_FEW = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
_selections = st.builds(
    Selection,
    st.sampled_from([None, MOMENTS[3], MOMENTS[5], MOMENTS[6], MOMENTS[7]]),
    st.sampled_from([ALL.until, START, MOMENTS[3]]),
    st.sampled_from(MODELS),
    st.sampled_from(BACKENDS),
    st.none(),
)


@pytest.fixture
async def owners(database: Database) -> dict[UUID, UUID]:
    return await add_owners(database)


@pytest.fixture
def overviews(database: Database, owners: dict[UUID, UUID]) -> Overviews:
    return Overviews(database)


@A_FEW
@given(rows=turn_rows(), selection=_selections, of_anna=st.booleans())
async def test_reports_equal_plain_sums(
    database: Database, overviews: Overviews, owners: dict[UUID, UUID], rows: list, selection: Selection, of_anna: bool
) -> None:
    if of_anna:
        anna = owners[CONVERSATIONS[0]]
        selection = Selection(selection.since, selection.until, selection.model, selection.backend, anna)
    await replace_turns(database, rows)
    mine = plain.chosen(rows, selection, owners)
    await compare_tiles(overviews, selection, mine)
    await compare_series(overviews, selection, mine)
    await compare_problems(overviews, selection, mine, rows, owners)
    await compare_ranking(overviews, selection, mine, owners)


async def compare_tiles(overviews: Overviews, selection: Selection, mine: list[plain.Row]) -> None:
    for name, shown in (await overviews.totals(selection, ["", "one", "two"])).items():
        assert shown == plain.totals([row for row in mine if (row["backend"] or "") == name])
        assert shown.cached.tokens + shown.computed.tokens == shown.prompt.tokens
    tiles = await overviews.tiles(selection)
    assert (tiles.turns, tiles.lost, tiles.by_status) == (len(mine), plain.totals(mine).lost, plain.states(mine))
    assert tiles.reuse == plain.reuse(mine)
    assert 0 <= tiles.reuse.part <= tiles.reuse.of
    assert tiles.losing_turns == sum((plain.lost(row) or 0) > 0 for row in mine)
    assert tiles.law_mismatches == sum(row["law_mismatch"] is True for row in mine)
    with_base = [row for row in mine if row["outcome"] not in (None, Outcome.FIRST_TURN)]
    known = [row["shortfall_tokens"] for row in with_base if row["shortfall_tokens"] is not None]
    assert tiles.hits == Rate(known.count(0), len(known), len(known))
    if selection.since is not None and selection.until - selection.since <= timedelta(days=7):
        first = tiles.first_token
        for shown, name in (
            (first.total, "time_to_first_token_ms"),
            (first.queued, "queued_ms"),
            (first.admission, "admission_ms"),
            (first.prefill, "prefill_ms"),
        ):
            assert shown == plain.percentiles(mine, name)


async def compare_series(overviews: Overviews, selection: Selection, mine: list[plain.Row]) -> None:
    series = await overviews.series(selection)
    assert len(series.buckets) <= 100
    assert sum(bucket.turns for bucket in series.buckets) == len(mine)
    for bucket in series.buckets:
        within = [row for row in mine if bucket.start <= row["created_at"] < bucket.start + series.step]
        layers = (bucket.turns, bucket.cached, bucket.new, bucket.on_purpose, bucket.lost, bucket.rounding)
        assert layers == plain.layers(within)
        assert min(layers) >= 0
        assert sum(layers[1:]) == plain.sum_of(within, plain.prompt).tokens
        if series.exact:
            assert bucket.first_token_p50_ms == plain.percentile(within, "time_to_first_token_ms", 50)
            assert bucket.first_token_p95_ms == plain.percentile(within, "time_to_first_token_ms", 95)


async def compare_problems(
    overviews: Overviews,
    selection: Selection,
    mine: list[plain.Row],
    rows: list[plain.Row],
    owners: dict[UUID, UUID],
) -> None:
    problems = await overviews.problems(selection, START)
    for shown, outcomes in (
        (problems.faults, FAULTS),
        (problems.on_purpose, ON_PURPOSE),
        (problems.rounding, ROUNDED),
    ):
        expected = plain.grouped(mine, outcomes)
        assert {(each.key.outcome, each.key.backend, each.key.model) for each in shown} == set(expected)
        assert [each.lost_tokens for each in shown] == sorted((each.lost_tokens for each in shown), reverse=True)
        for each in shown:
            compare_problem(each, expected[each.key.outcome, each.key.backend, each.key.model], owners)
    if selection.since is None:
        assert not any(each.is_new for each in problems.faults)
        return
    before = Selection(
        selection.since - timedelta(days=7), selection.since, selection.model, selection.backend, selection.owner_id
    )
    earlier = plain.grouped(plain.chosen(rows, before, owners), FAULTS)
    for each in problems.faults:
        assert each.is_new == ((each.key.outcome, each.key.backend, each.key.model) not in earlier)


def compare_problem(shown: Problem, rows: list[plain.Row], owners: dict[UUID, UUID]) -> None:
    conversations = {row["conversation_id"] for row in rows} - {None}
    assert (shown.turns, shown.conversations) == (len(rows), len(conversations))
    assert shown.users == len({owners[conversation] for conversation in conversations})
    assert shown.lost_tokens == sum(row["shortfall_tokens"] or 0 for row in rows)
    moments = [row["created_at"] for row in rows]
    assert (shown.first_seen, shown.last_seen) == (min(moments), max(moments))
    worst = max(rows, key=lambda row: (row["shortfall_tokens"] or 0, row["created_at"], row["id"]))
    assert (shown.worst_turn_id, shown.worst_conversation_id) == (worst["id"], worst["conversation_id"])
    assert shown.worst_lost_tokens == (worst["shortfall_tokens"] or 0)
    assert shown.diverged_where == worst["diverged_where"]


async def compare_ranking(
    overviews: Overviews, selection: Selection, mine: list[plain.Row], owners: dict[UUID, UUID]
) -> None:
    ids = {row["conversation_id"] for row in mine} - {None}
    for sort in SORTS:
        order, after = [], None
        while True:
            page = await overviews.ranking(selection, sort, after, limit=2)
            order += page.rows
            after = page.after
            if after is None:
                break
        assert len(order) == len(ids)
        assert {each.id for each in order} == ids
        found = [await overviews.neighbours(selection, sort, each.id) for each in order]
        names = [None, *(each.id for each in order), None]
        assert found == [Neighbours(*pair) for pair in zip(names, names[2:], strict=False)]
    for each in order:
        rows = [row for row in mine if row["conversation_id"] == each.id]
        sums = plain.totals(rows)
        assert (each.turns, each.prompt, each.cached, each.lost) == (len(rows), sums.prompt, sums.cached, sums.lost)
        assert each.reuse == plain.reuse(rows)
        assert each.last_turn_at == max(row["created_at"] for row in rows)
        times = [row["time_to_first_token_ms"] for row in rows if row["time_to_first_token_ms"] is not None]
        assert each.slowest_first_token_ms == max(times, default=None)
        assert (each.main_cause is None) == (sums.lost.tokens == 0)
