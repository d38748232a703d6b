"""Tiles in words: each with what it stands on, and nothing where nothing is known."""

from app.reports.overview import FirstTokenTimes, Rate, Sum
from app.web.languages import load_languages
from app.web.operator.costs import Cost
from app.web.operator.tile_words import first_token_tile, state_counts, tiles_of, time_rows
from tests.app.web.operator.values import percentiles, tiles

ENGLISH = load_languages()["en"]
FREE = Cost(0, None, True)


def test_each_tile_says_its_coverage_and_the_period_before() -> None:
    read = tiles(10, lost=Sum(5000, 8), losing_turns=2, hits=Rate(6, 8, 8), reuse=Rate(3000, 4000, 8))
    before = tiles(4, lost=Sum(0, 0), reuse=Rate(0, 0, 0), hits=Rate(1, 2, 2))
    reuse, lost, hits = tiles_of(read, before, Cost(5000, 2.5, True), ENGLISH)
    assert (reuse.value, reuse.coverage, reuse.before) == ("75%", "8 of 10 turns", "–")
    assert (lost.value, lost.coverage, lost.before) == ("5,000", "8 of 10 turns", "–")
    assert lost.meaning == "Computed again in 2 turns, about 2.5 s of prefill."
    assert (hits.value, hits.coverage, hits.before) == ("75%", "8 of 10 turns", "50%")
    assert hits.meaning == "6 of 8 turns read everything that they could."


def test_what_nobody_reported_is_no_zero() -> None:
    read = tiles(3, lost=Sum(0, 0), reuse=Rate(0, 0, 0), hits=Rate(0, 0, 0))
    assert [tile.value for tile in tiles_of(read, None, FREE, ENGLISH)] == ["–", "–", "–"]
    assert [tile.before for tile in tiles_of(read, None, FREE, ENGLISH)] == [None, None, None]
    assert first_token_tile(read, None, ENGLISH).value == "–"
    assert {row.p95 for row in time_rows(read, ENGLISH)} == {"–"}


def test_first_token_has_its_parts_and_says_when_it_is_not_exact() -> None:
    times = FirstTokenTimes(percentiles(400, exact=False), percentiles(10), None, percentiles(390))
    read = tiles(10, first_token=times)
    tile = first_token_tile(read, read, ENGLISH)
    assert (tile.value, tile.coverage, tile.before) == ("0.40 s", "9 of 10 turns, to within 2%", "0.40 s")
    assert [(row.key, row.p50, row.p99, row.turns) for row in time_rows(read, ENGLISH)] == [
        ("total", "0.40 s", "1.20 s", "9"), ("queued", "0.01 s", "0.03 s", "9"), ("admission", "–", "–", "0"),
        ("prefill", "0.39 s", "1.17 s", "9"),
    ]  # fmt: skip


def test_every_state_is_counted() -> None:
    counts = state_counts(tiles(7, by_status={"completed": 5, "failed": 2}), ENGLISH)
    assert {each.status: each.turns for each in counts} == {
        "completed": "5", "stopped": "0", "interrupted": "0", "failed": "2", "running": "0", "queued": "0",
    }  # fmt: skip
