"""The overview's rows of backends in words: whether they answer, since when, and how full their cache is; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.reports.overview import Mark, Totals
from app.serving_events import SERVER_START
from app.settings import Backend, ReuseRule
from app.web.languages import Language
from app.web.operator.listed_words import NONE
from app.web.operator.times import short_moment
from inference_client.inspection import CacheState


@dataclass(frozen=True, slots=True)
class BackendState:
    """`totals` are those of its turns of the selection; `cache` is None where it shows none, or none came in time."""

    settings: Backend
    away: bool
    totals: Totals
    cache: CacheState | None


@dataclass(frozen=True, slots=True)
class BackendRow:
    name: str
    away: bool
    since: str
    running: str
    slots: str
    evicted: str
    reported: str
    granularity: str
    isolation: str


def rows_of(
    states: Sequence[BackendState], marks: Sequence[Mark], zone: str, language: Language
) -> tuple[BackendRow, ...]:
    starts: Mapping[str | None, Mark] = {mark.backend: mark for mark in marks if mark.kind == SERVER_START}
    return tuple(_row(state, starts.get(state.settings.name), zone, language) for state in states)


def _row(state: BackendState, start: Mark | None, zone: str, language: Language) -> BackendRow:
    cache, settings, totals = state.cache, state.settings, state.totals
    return BackendRow(
        name=settings.name,
        away=state.away,
        since=language.gettext("before this period") if start is None else short_moment(start.at, zone, language),
        running=NONE if cache is None else f"{language.number(cache.running)} / {language.number(cache.waiting)}",
        slots=NONE if cache is None else _slots(cache, language),
        evicted=NONE if cache is None else language.number(cache.evicted_tokens),
        reported=language.gettext(
            "%(covered)s of %(all)s turns",
            covered=language.number(totals.cached.turns),
            all=language.number(totals.turns),
        ),
        granularity=granularity_words(settings.reuse_rule, language),
        isolation=isolation_words(settings, language),
    )


def granularity_words(rule: ReuseRule, language: Language) -> str:
    words = {
        "token": language.gettext("every token"),
        "block": language.gettext("blocks of %(n)s", n=language.number(rule.size)),
        "breakpoint": language.gettext("marked prefixes from %(n)s", n=language.number(rule.size)),
        "none": language.gettext("reuses nothing"),
    }
    return words[rule.kind]


def isolation_words(settings: Backend, language: Language) -> str:
    """Whether what one user has made it compute can be reused by another."""
    if settings.isolation == "metadata":
        return language.gettext("by user")
    return language.gettext("none: users share a cache")


def _slots(cache: CacheState, language: Language) -> str:
    return " / ".join(language.number(n) for n in (cache.slots.live, cache.slots.cached, cache.slots.free))
