"""Reports' values, made by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from app.cache_outcomes import Outcome
from app.reports.overview import (
    Bucket,
    FirstTokenTimes,
    Percentiles,
    Problem,
    ProblemKey,
    Rate,
    Selection,
    Sum,
    Tiles,
)
from app.web.operator.filters import Filters

NOW = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)
NOTHING = FirstTokenTimes(None, None, None, None)


def filters(**given: str) -> Filters:
    """The last day, in Seoul's time."""
    return Filters(Selection(NOW - timedelta(days=1), NOW), "24h", "Asia/Seoul", False, None, {"range": "24h", **given})


def problem(outcome: Outcome = Outcome.EVICTED, lost: int = 3000, **changes: Any) -> Problem:
    backend = changes.pop("backend", "east")
    values: dict[str, Any] = {
        "key": ProblemKey(outcome, backend, "qwen"),
        "turns": 4,
        "conversations": 2,
        "users": 1,
        "lost_tokens": lost,
        "first_seen": NOW - timedelta(hours=5),
        "last_seen": NOW - timedelta(minutes=5),
        "is_new": False,
        "ongoing": False,
        "worst_turn_id": UUID(int=1),
        "worst_conversation_id": UUID(int=2),
        "worst_lost_tokens": 1000,
        "diverged_where": None,
        "diverged_offset": None,
        "diverged_kind": None,
    }
    return Problem(**{**values, **changes})


def tiles(turns: int = 10, **changes: Any) -> Tiles:
    values: dict[str, Any] = {
        "turns": turns,
        "reuse": Rate(900, 1000, turns),
        "lost": Sum(0, turns),
        "losing_turns": 0,
        "hits": Rate(turns, turns, turns),
        "first_token": NOTHING,
        "by_status": {"completed": turns},
        "law_mismatches": 0,
    }
    return Tiles(**{**values, **changes})


def percentiles(p50: float, *, exact: bool = True) -> Percentiles:
    return Percentiles(p50, p50 * 2, p50 * 3, 9, exact)


def bucket(place: int, *layers: int, p50: float | None = None, p95: float | None = None) -> Bucket:
    """`layers`: cached, new, on purpose, lost, rounding; buckets are an hour long."""
    cached, new, on_purpose, lost, rounding = (*layers, 0, 0, 0, 0, 0)[:5]
    start = NOW - timedelta(hours=24 - place)
    return Bucket(start, 1 if layers else 0, cached, new, on_purpose, lost, rounding, p50, p95)
