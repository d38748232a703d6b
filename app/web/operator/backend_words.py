"""A backend's state in words, and its pool as a bar."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.web.languages import Language
from app.web.operator.backend_health import BackendState
from inference_client import CacheState
from inference_client.inspection import Slots

BAR_WIDTH = 100.0


@dataclass(frozen=True, slots=True)
class Segment:
    """`x` and `width` in hundredths of the bar."""

    layer: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str
    key: str


@dataclass(frozen=True, slots=True)
class BackendCells:
    """`bar` is empty where the pool is not known."""

    name: str
    away: bool
    health: str
    shared: bool
    facts: Sequence[Fact]
    bar: Sequence[Segment]


def cells_of(state: BackendState, language: Language, zone: str) -> BackendCells:
    _ = language.gettext
    return BackendCells(
        name=state.settings.name,
        away=state.away,
        health=_("does not answer") if state.away else _("answers"),
        shared=state.settings.isolation == "none",
        facts=[
            *_served(state, language, zone),
            *_pool(state, language),
            *_configured(state, language),
        ],
        bar=bar_of(state.cache.slots) if state.cache else (),
    )


def bar_of(slots: Slots) -> Sequence[Segment]:
    """Live, cached and free slots side by side; nothing for a pool without slots."""
    segments, x = [], 0.0
    for layer, count in (("live", slots.live), ("cached", slots.cached), ("free", slots.free)):
        width = BAR_WIDTH * count / slots.total if slots.total else 0.0
        if width:
            segments.append(Segment(layer, round(x, 2), round(width, 2)))
        x += width
    return segments


def _served(state: BackendState, language: Language, zone: str) -> Sequence[Fact]:
    _, figures = language.gettext, state.figures
    serving_id = state.cache.serving_id if state.cache else figures.serving_id
    # The newest start that a turn has told of is not the one that serves if nothing was asked since the last start.
    since = figures.serving_since if serving_id == figures.serving_id else None
    reported = _("no turns in 24 hours")
    if figures.completed:
        covered, everything = language.number(figures.reported), language.number(figures.completed)
        share = language.percent(figures.reported, figures.completed)
        reported = _("%(share)s, %(covered)s of %(all)s turns", share=share, covered=covered, all=everything)
    speed = state.prefill_speed
    return (
        Fact(_("Serving since"), language.moment(since, zone) if since else _("not known"), "serving_since"),
        Fact(_("Serving id"), serving_id or _("not reported"), "serving_id"),
        Fact(
            _("Last turn"),
            language.moment(figures.last_turn_at, zone) if figures.last_turn_at else _("none in 30 days"),
            "last_turn",
        ),
        Fact(_("Usage reported, last 24 hours"), reported, "reported"),
        Fact(
            _("Prefill speed, last 24 hours"),
            _("%(n)s tok/s", n=language.number(speed)) if speed is not None else _("not measured"),
            "prefill_speed",
        ),
    )


def _pool(state: BackendState, language: Language) -> Sequence[Fact]:
    _, cache = language.gettext, state.cache
    if cache is None:
        told = _("no answer") if state.settings.inspection else _("this server does not show it")
        return (Fact(_("Pool"), told, "pool"),)
    return (
        Fact(_("Requests"), _requests(cache, language), "requests"),
        Fact(_("KV slots"), _slots(cache.slots, language), "slots"),
        Fact(_("Tokens evicted since its start"), language.number(cache.evicted_tokens), "evicted"),
        Fact(_("Caches of users"), language.number(cache.scopes), "scopes"),
        Fact(_("Nodes of the prefix tree"), language.number(cache.nodes), "nodes"),
        Fact(_("Remembered requests"), language.number(cache.records), "records"),
    )


def _requests(cache: CacheState, language: Language) -> str:
    running, waiting = language.number(cache.running), language.number(cache.waiting)
    return language.gettext("%(running)s running, %(waiting)s waiting", running=running, waiting=waiting)


def _slots(slots: Slots, language: Language) -> str:
    return language.gettext(
        "%(live)s live, %(cached)s cached, %(free)s free of %(total)s",
        live=language.number(slots.live),
        cached=language.number(slots.cached),
        free=language.number(slots.free),
        total=language.number(slots.total),
    )


def _configured(state: BackendState, language: Language) -> Sequence[Fact]:
    _, settings = language.gettext, state.settings
    rule = settings.reuse_rule
    reuse = {
        "token": _("every token"),
        "block": _("whole blocks of %(n)s tokens", n=language.number(rule.size)),
        "breakpoint": _("marked prefixes of %(n)s tokens or more", n=language.number(rule.size)),
        "none": _("nothing"),
    }[rule.kind]
    by_user = settings.isolation == "metadata"
    return (
        Fact(_("Reuses"), reuse, "reuse"),
        Fact(_("Isolation"), _("a cache for each user") if by_user else _("none: all users share it"), "isolation"),
    )
