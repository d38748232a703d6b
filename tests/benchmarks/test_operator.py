"""The made-up past keeps its own books: the reports' totals are the plain sums of its rows. No time is asserted."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from app.cache_outcomes import FAULTS
from app.database import Database, migrate
from app.reports import Overviews
from app.reports.overview import Totals
from benchmarks.operator import SPANS, main
from benchmarks.operator_turns import BACKENDS, Past, fill

pytestmark = pytest.mark.anyio
TURNS = 300


@pytest.mark.parametrize("span", SPANS)
async def test_totals_are_the_plain_sums_of_the_made_rows(tmp_path: Path, span: str) -> None:
    url = f"sqlite:///{tmp_path / 'made.db'}"
    migrate(url)
    fill(url, Past(TURNS))
    again = Past(TURNS)
    # What is made first takes its ids and its chances first.
    list(chain(again.users(), again.conversations(), again.events()))
    selection = SPANS[span]
    rows = [
        row
        for row in again.rows()
        if row["purpose"] == "chat"
        and row["imported_at"] is None
        and (selection.since is None or row["created_at"] >= selection.since)
    ]
    database = Database(url)
    found = await Overviews(database).totals(selection, ["", *BACKENDS])
    await database.close()
    assert sum(totals.turns for totals in found.values()) == len(rows) > 0
    for backend, totals in found.items():
        compare(totals, [row for row in rows if (row["backend"] or "") == backend])


def compare(totals: Totals, rows: list[dict[str, Any]]) -> None:
    reported = [row for row in rows if row["input_tokens"] is not None]
    assert totals.prompt.turns == len(reported)
    assert totals.cached.tokens == sum(row["cache_read_input_tokens"] for row in reported)
    assert totals.computed.tokens == sum(row["input_tokens"] for row in reported)
    assert totals.output.tokens == sum(row["output_tokens"] or 0 for row in rows)
    assert totals.lost.tokens == sum(row["shortfall_tokens"] or 0 for row in reported if row["outcome"] in FAULTS)


def test_benchmark_prints_every_report_and_how_it_is_read() -> None:
    options = ("--turns", "120", "--repetitions", "1", "--database", "sqlite", "--plans")
    result = CliRunner().invoke(main, options, catch_exceptions=False)
    assert result.exit_code == 0
    assert "24 hours: the whole overview (budget 400" in result.stdout
    assert "everything: problems: SEARCH turns USING COVERING INDEX ix_turns_missed" in result.stdout
