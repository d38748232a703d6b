"""The overview's tiles in words: each figure with the turns that it covers, and that of the period before; pure."""

from collections.abc import Callable
from dataclasses import dataclass

from app.reports.overview import Percentiles, Rate, Tiles
from app.web.languages import Language
from app.web.operator.costs import Cost, seconds_words
from app.web.operator.listed_words import NONE, state_names

STATES = ("completed", "stopped", "interrupted", "failed", "running", "queued")


@dataclass(frozen=True, slots=True)
class Tile:
    """`meaning` says what the figure is, `coverage` what it stands on; `before` is None where nothing is compared."""

    key: str
    name: str
    value: str
    meaning: str
    coverage: str
    before: str | None


@dataclass(frozen=True, slots=True)
class TimeRow:
    """One part of the wait for the first token; "–" where no turn has it."""

    key: str
    name: str
    p50: str
    p95: str
    p99: str
    turns: str


@dataclass(frozen=True, slots=True)
class StateCount:
    status: str
    name: str
    turns: str


def tiles_of(tiles: Tiles, before: Tiles | None, cost: Cost, language: Language) -> tuple[Tile, ...]:
    """`cost` is that of all faults of the period."""
    return (_reuse(tiles, before, language), _lost(tiles, before, cost, language), _hits(tiles, before, language))


def first_token_tile(tiles: Tiles, before: Tiles | None, language: Language) -> Tile:
    total = tiles.first_token.total
    counted = total.turns if total else 0
    exact = total is None or total.exact
    coverage = _coverage(counted, tiles.turns, language)
    if not exact:
        coverage = f"{coverage}, {language.gettext('to within 2%')}"
    return Tile(
        "first-token",
        language.gettext("First token"),
        _time(total, lambda times: times.p50, language),
        language.gettext("How long half of all turns waited at most."),
        coverage,
        None if before is None else _time(before.first_token.total, lambda times: times.p50, language),
    )


def time_rows(tiles: Tiles, language: Language) -> tuple[TimeRow, ...]:
    times = tiles.first_token
    parts = (
        ("total", language.gettext("all of it"), times.total),
        ("queued", language.gettext("queue"), times.queued),
        ("admission", language.gettext("admission"), times.admission),
        ("prefill", language.gettext("prefill"), times.prefill),
    )
    return tuple(
        TimeRow(
            key,
            name,
            _time(part, lambda each: each.p50, language),
            _time(part, lambda each: each.p95, language),
            _time(part, lambda each: each.p99, language),
            language.number(part.turns if part else 0),
        )
        for key, name, part in parts
    )


def state_counts(tiles: Tiles, language: Language) -> tuple[StateCount, ...]:
    names = state_names(language)
    counts = {status: tiles.by_status.get(status, 0) for status in STATES}
    return tuple(StateCount(status, names[status], language.number(turns)) for status, turns in counts.items())


def rate_words(rate: Rate, language: Language) -> str:
    return language.percent(rate.part, rate.of) if rate.of else NONE


def _reuse(tiles: Tiles, before: Tiles | None, language: Language) -> Tile:
    return Tile(
        "reuse",
        language.gettext("Reuse achieved"),
        rate_words(tiles.reuse, language),
        language.gettext(
            "Read from the cache: %(part)s of %(of)s tokens that could have been.",
            part=language.number(tiles.reuse.part),
            of=language.number(tiles.reuse.of),
        ),
        _coverage(tiles.reuse.turns, tiles.turns, language),
        None if before is None else rate_words(before.reuse, language),
    )


def _lost(tiles: Tiles, before: Tiles | None, cost: Cost, language: Language) -> Tile:
    losing = language.ngettext("Computed again in %(n)s turn", "Computed again in %(n)s turns", tiles.losing_turns)
    time = seconds_words(cost, language)
    return Tile(
        "lost",
        language.gettext("Lost tokens"),
        language.number(tiles.lost.tokens) if tiles.lost.turns else NONE,
        f"{losing}." if time is None else language.gettext("%(what)s, %(time)s of prefill.", what=losing, time=time),
        _coverage(tiles.lost.turns, tiles.turns, language),
        None if before is None else language.number(before.lost.tokens) if before.lost.turns else NONE,
    )


def _hits(tiles: Tiles, before: Tiles | None, language: Language) -> Tile:
    return Tile(
        "hits",
        language.gettext("Hit rate"),
        rate_words(tiles.hits, language),
        language.gettext(
            "%(part)s of %(of)s turns read everything that they could.",
            part=language.number(tiles.hits.part),
            of=language.number(tiles.hits.of),
        ),
        _coverage(tiles.hits.turns, tiles.turns, language),
        None if before is None else rate_words(before.hits, language),
    )


def _coverage(covered: int, turns: int, language: Language) -> str:
    return language.gettext(
        "%(covered)s of %(all)s turns", covered=language.number(covered), all=language.number(turns)
    )


def _time(times: Percentiles | None, which: Callable[[Percentiles], float], language: Language) -> str:
    return NONE if times is None else language.seconds(round(which(times)))
