"""The operator's reports once more, row by row in plain Python, to compare the ones from SQL with."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from app.accounting import Reported, capped
from app.cache_outcomes import FAULTS, ON_PURPOSE, Outcome
from app.reports.measures import ROUNDED
from app.reports.overview import Percentiles, Rate, Selection, Sum, Totals

Row = Mapping[str, Any]


def chosen(rows: Iterable[Row], selection: Selection, owners: Mapping[UUID, UUID]) -> list[Row]:
    def is_chosen(row: Row) -> bool:
        return (
            row["purpose"] == "chat"
            and row["imported_at"] is None
            and row["created_at"] < selection.until
            and (selection.since is None or row["created_at"] >= selection.since)
            and (selection.model is None or row["model"] == selection.model)
            and (selection.backend is None or row["backend"] == selection.backend)
            and (selection.owner_id is None or owners.get(row["conversation_id"]) == selection.owner_id)
        )

    return [row for row in rows if is_chosen(row)]


def reported(row: Row) -> Reported:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return Reported(*(row[name] for name in names))


def prompt(row: Row) -> int | None:
    return reported(row).prompt_tokens


def cached(row: Row) -> int | None:
    return None if prompt(row) is None else reported(row).cached_tokens


def computed(row: Row) -> int | None:
    return None if prompt(row) is None else reported(row).computed_tokens


def missed(row: Row, outcomes: Iterable[Outcome]) -> int | None:
    """None for a turn that has not ended, has not reported, or has missed an unknown number."""
    if prompt(row) is None or row["outcome"] is None:
        return None
    shortfall: int | None = row["shortfall_tokens"]
    return shortfall if row["outcome"] in outcomes else 0


def lost(row: Row) -> int | None:
    return missed(row, FAULTS)


def sum_of(rows: Iterable[Row], figure: Callable[[Row], int | None]) -> Sum:
    known = [tokens for tokens in map(figure, rows) if tokens is not None]
    return Sum(sum(known), len(known))


def reuse(rows: Iterable[Row]) -> Rate:
    both = []
    for row in rows:
        readable = capped(row["expected_read_tokens"], reported(row))
        if readable is not None and readable >= 0:
            both.append((min(readable, row["cache_read_input_tokens"]), readable))
    return Rate(sum(part for part, _ in both), sum(of for _, of in both), len(both))


def totals(rows: Sequence[Row]) -> Totals:
    return Totals(
        turns=len(rows),
        prompt=sum_of(rows, prompt),
        cached=sum_of(rows, cached),
        computed=sum_of(rows, computed),
        output=sum_of(rows, lambda row: reported(row).output_tokens),
        lost=sum_of(rows, lost),
        on_purpose=sum_of(rows, lambda row: missed(row, ON_PURPOSE)),
        rounding=sum_of(rows, lambda row: missed(row, ROUNDED)),
    )


def layers(rows: Sequence[Row]) -> tuple[int, ...]:
    """Turns, cached, new, on purpose, lost and rounding."""
    sums = totals(rows)
    again = (sums.on_purpose.tokens, sums.lost.tokens, sums.rounding.tokens)
    return (len(rows), sums.cached.tokens, sums.prompt.tokens - sums.cached.tokens - sum(again), *again)


def percentile(rows: Iterable[Row], name: str, percent: int) -> float | None:
    """The smallest time that at least so many percent do not exceed."""
    times = sorted(row[name] for row in rows if row[name] is not None)
    return next((time for time in times if sum(other <= time for other in times) * 100 >= percent * len(times)), None)


def percentiles(rows: Sequence[Row], name: str) -> Percentiles | None:
    p50, p95, p99 = (percentile(rows, name, percent) for percent in (50, 95, 99))
    if p50 is None or p95 is None or p99 is None:
        return None
    return Percentiles(p50, p95, p99, sum(row[name] is not None for row in rows), True)


def grouped(rows: Iterable[Row], outcomes: Iterable[Outcome]) -> dict[tuple[Any, ...], list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        if row["outcome"] in outcomes:
            groups[row["outcome"], row["backend"], row["model"]].append(row)
    return groups


def states(rows: Iterable[Row]) -> dict[str, int]:
    names = ("queued", "running", "completed", "stopped", "interrupted", "failed")
    counts = Counter(row["status"] for row in rows)
    return {name: counts[name] for name in names}
