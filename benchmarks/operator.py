"""Measures the operator's reports over many turns, on SQLite and on PostgreSQL, and shows how they are read.

python -m benchmarks.operator --turns 1000000
"""

import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import anyio
import click
import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, func, insert, make_url, select, text

from app.database import Database, migrate
from app.models import Turn
from app.reports import Overviews, Reports
from app.reports.day_sums import MOST_DAYS, DaySums
from app.reports.overview import Selection
from benchmarks.machine import describe_machine
from benchmarks.operator_turns import BACKENDS, END, LENGTH, Past, fill
from benchmarks.tables import columns
from tests.app.postgres_server import running_postgres

DATABASES: Final = ("sqlite", "postgresql")
SPANS: Final = {"24 hours": Selection(END - timedelta(hours=24), END), "everything": Selection(None, END)}
BUDGETS_MS: Final = {
    ("sqlite", "24 hours"): 400,
    ("sqlite", "everything"): 4_000,
    ("postgresql", "24 hours"): 150,
    ("postgresql", "everything"): 1_000,
}
_INDEXES: Final = ("ix_turns_missed", "ix_turns_errors", "ix_turns_places")
Report = Callable[[], Awaitable[object]]


@click.command(context_settings={"show_default": True})
@click.option("--turns", default=1_000_000, type=click.IntRange(1), help="How many there are.")
@click.option("--repetitions", default=5, type=click.IntRange(1), help="How often each report is read.")
@click.option("--database", "names", default=DATABASES, type=click.Choice(DATABASES), multiple=True, help="Which.")
@click.option("--plans", is_flag=True, help="Show how each query is read.")
def main(turns: int, repetitions: int, names: tuple[str, ...], plans: bool) -> None:
    """Measure the operator's reports: medians in milliseconds."""
    click.echo(f"machine: {describe_machine()}\n{turns} turns, {repetitions} repetitions\n")
    for name in names:
        with opened(name) as url:
            began = time.perf_counter()
            migrate(url)
            fill(url, Past(turns))
            settle(url)
            click.echo(f"{name}: filled in {time.perf_counter() - began:.0f} s")
            click.echo(f"days summed in {anyio.run(sum_days, url):.0f} s")
            click.echo(columns([["report", "ms"], *anyio.run(measure, name, url, repetitions)]))
            if plans:
                click.echo("\n".join(anyio.run(plans_of, url)))
            click.echo(f"indexes of reports: {index_cost(url):.0f} microseconds for each row that is inserted")
            click.echo()


@contextmanager
def opened(name: str) -> Iterator[str]:
    """The URL of an empty database, which is gone afterwards."""
    with ExitStack() as stack:
        if name == "sqlite":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="recount-operator-"))
            yield f"sqlite:///{Path(folder) / 'recount.db'}"
            return
        server = stack.enter_context(running_postgres())
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("CREATE DATABASE operator")
        yield make_url(server).set(database="operator").render_as_string(hide_password=False)


def settle(url: str) -> None:
    """PostgreSQL does it by itself within minutes; SQLite never looks at its tables unless it is told to."""
    if make_url(url).get_backend_name() == "postgresql":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")


async def sum_days(url: str) -> float:
    """Seconds that all ended days take: the app does it beside its requests."""
    database, began = Database(url), time.perf_counter()
    for _ in range(-(-LENGTH.days // MOST_DAYS)):
        await DaySums(database, lambda: END).sweep()
    await database.close()
    return time.perf_counter() - began


async def measure(name: str, url: str, repetitions: int) -> Sequence[Sequence[str]]:
    """Rows of a table."""
    database = Database(url)
    overviews = Overviews(database)
    rows = []
    for span, selection in SPANS.items():
        times = {label: await _median(report, repetitions) for label, report in overview_of(overviews, selection)}
        rows += [[f"{span}: {label}", f"{spent:.0f}"] for label, spent in times.items()]
        whole = await _median(partial(_page, overviews, selection), repetitions)
        budget = BUDGETS_MS[name, span]
        verdict = "kept" if whole <= budget else "missed"
        rows.append([f"{span}: the whole overview (budget {budget}, {verdict})", f"{whole:.0f}"])
    for label, report in await pages_of(overviews, Reports(database), database):
        rows.append([label, f"{await _median(report, repetitions):.0f}"])
    await database.close()
    return rows


async def _page(overviews: Overviews, selection: Selection) -> None:
    await overviews.overview(selection, UTC, END, BACKENDS)
    await overviews.choices()


def overview_of(overviews: Overviews, selection: Selection) -> list[tuple[str, Report]]:
    """All that the page of the overview reads, one by one."""
    return [
        ("tiles and series", lambda: overviews.tiles_and_series(selection)),
        ("problems", lambda: overviews.problems(selection, END)),
        ("ten worst conversations", lambda: overviews.ranking(selection, "lost", limit=10)),
        ("errors", lambda: overviews.errors(selection)),
        ("backends", lambda: overviews.totals(selection, BACKENDS)),
        ("running and queued", overviews.running_and_queued),
        ("choices", overviews.choices),
    ]


async def pages_of(overviews: Overviews, reports: Reports, database: Database) -> list[tuple[str, Report]]:
    """The other pages of operators, each over everything."""
    everything = SPANS["everything"]
    first = (await overviews.ranking(everything, "lost")).after
    deep = Selection(None, END - timedelta(days=60))
    mark = (await overviews.turns(deep)).after
    busiest = select(Turn.conversation_id).group_by(Turn.conversation_id).order_by(func.count().desc()).limit(1)
    async with database.read() as session:
        conversation = await session.scalar(busiest.where(Turn.conversation_id.is_not(None)))
    assert conversation is not None
    return [
        ("ranking by lost tokens, second page", lambda: overviews.ranking(everything, "lost", first)),
        ("ranking by last turn, first page", lambda: overviews.ranking(everything, "recent")),
        ("turns, a page two thirds down", lambda: overviews.turns(everything, after=mark)),
        ("the conversation with most turns", lambda: reports.conversation(conversation)),
    ]


async def _median(report: Report, repetitions: int) -> float:
    spent = []
    for _ in range(repetitions):
        began = time.perf_counter()
        await report()
        spent.append((time.perf_counter() - began) * 1000)
    return median(spent)


def index_cost(url: str, rows: int = 2_000) -> float:
    """What one more row costs with the indexes of the reports on top of one without them; leaves them dropped."""
    parsed = make_url(url)
    driver = "sqlite+pysqlite" if parsed.get_backend_name() == "sqlite" else "postgresql+psycopg"
    engine = create_engine(parsed.set(drivername=driver))
    with engine.begin() as connection:
        with_indexes = _insert(connection, rows)
        for name in _INDEXES:
            connection.execute(text(f"DROP INDEX {name}"))
        without = _insert(connection, rows)
    engine.dispose()
    return (with_indexes - without) / rows * 1_000_000


def _insert(connection: Connection, rows: int) -> float:
    made = [{**row, "conversation_id": None, "base_turn_id": None} for row in Past(rows, seed=time.time_ns()).rows()]
    began = time.perf_counter()
    connection.execute(insert(Turn), made)
    return time.perf_counter() - began


async def plans_of(url: str) -> list[str]:
    """One line for each query, of the tables and indexes that it goes through."""
    statements: list[tuple[str, str, Any]] = []
    label = ""

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if statement.startswith("SELECT"):
            statements.append((label, statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    database = Database(url)
    for span, selection in SPANS.items():
        for name, report in overview_of(Overviews(database), selection):
            label = f"{span}: {name}"
            await report()
    event.remove(Engine, "before_cursor_execute", note)
    await database.close()
    return list(dict.fromkeys(_explained(url, statements)))


def _explained(url: str, statements: Sequence[tuple[str, str, Any]]) -> Iterator[str]:
    sqlite = make_url(url).get_backend_name() == "sqlite"
    engine = create_engine(make_url(url).set(drivername="sqlite+pysqlite" if sqlite else "postgresql+psycopg"))
    with engine.connect() as connection:
        for label, statement, parameters in statements:
            rows = connection.exec_driver_sql(f"EXPLAIN {'QUERY PLAN ' if sqlite else ''}{statement}", parameters)
            steps = [str(row[-1]).strip(" ->").split("  (")[0] for row in rows]
            yield f"{label}: {'; '.join(step for step in steps if 'turns' in step)}"
    engine.dispose()


if __name__ == "__main__":
    main()
