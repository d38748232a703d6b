"""What speaks for a cause: numbers, times and places, and never a text; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.cache_outcomes import Group, Outcome
from app.reports.overview import Mark, Problem
from app.serving_events import SERVER_START
from app.settings import Backend
from app.web.languages import Language
from app.web.operator.times import length_words, short_moment
from app.web.place_words import divergence_words
from inference_client.inspection import CacheState


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known beside the turns: `marks` of the period, the settings, and what inspected backends hold now."""

    marks: Sequence[Mark]
    backends: Mapping[str, Backend]
    caches: Mapping[str, CacheState]


def evidence_of(problem: Problem, facts: Facts, zone: str, language: Language) -> tuple[str, ...]:
    """Empty where nothing more is known than the cause itself."""
    place = divergence_words(problem.diverged_where, problem.diverged_offset, problem.diverged_kind, language)
    found = [place, _of_backend(problem, facts, zone, language)]
    return tuple(words for words in found if words)


def cache_words(cache: CacheState, language: Language) -> str:
    """How full the pool is; what no answer is using can be given up when room is needed."""
    percent = language.percent(cache.slots.total - cache.slots.free, cache.slots.total)
    if not cache.evicted_tokens:
        return language.gettext("pool %(percent)s full now", percent=percent)
    evicted = language.number(cache.evicted_tokens)
    return language.gettext("pool %(percent)s full now, %(n)s tokens given up so far", percent=percent, n=evicted)


def _of_backend(problem: Problem, facts: Facts, zone: str, language: Language) -> str | None:
    outcome = problem.key.outcome
    if outcome.group is Group.DEPLOYMENT:
        return _starts(problem, facts.marks, zone, language)
    if outcome is Outcome.EXPIRED:
        return _lifetime(problem, facts, language)
    if outcome.group is Group.CAPACITY:
        cache = facts.caches.get(problem.key.backend or "")
        return None if cache is None else cache_words(cache, language)
    return None


def _starts(problem: Problem, marks: Sequence[Mark], zone: str, language: Language) -> str | None:
    """Those up to its last turn: of the backend that was started again, and of any where another one took over."""
    own = problem.key.backend if problem.key.outcome is Outcome.RESTARTED else None
    past = [mark for mark in marks if mark.kind == SERVER_START and mark.at <= problem.last_seen]
    starts = [mark.at for mark in past if own in (None, mark.backend)]
    if not starts:
        return None
    at = short_moment(max(starts), zone, language)
    if len(starts) == 1:
        return language.gettext("serving id changed %(at)s", at=at)
    return language.gettext("serving id changed %(n)s times, last %(at)s", n=language.number(len(starts)), at=at)


def _lifetime(problem: Problem, facts: Facts, language: Language) -> str | None:
    backend = facts.backends.get(problem.key.backend or "")
    if backend is None or backend.cache_lifetime_s is None:
        return None
    return language.gettext("keeps a prompt for %(time)s", time=length_words(backend.cache_lifetime_s, language))
