"""What stands around every page of figures: the period in words, and what the filters can be changed to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from starlette.requests import Request

from app.reports.overview import FilterChoices, Selection
from app.web.languages import Language
from app.web.operator.filters import RANGES, REFRESH_SECONDS, Filters
from app.web.operator.times import dated_moment, zone_words
from app.web.visit import house_of, visit_of


@dataclass(frozen=True, slots=True)
class FilterLink:
    """`current`: it leads to what is shown already, or takes it back."""

    words: str
    query: str
    current: bool


@dataclass(frozen=True, slots=True)
class SelectField:
    """`options` are values and words; the first is the empty one."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class EndField:
    """One end of the period. `type` is that of the HTML field: what is no time can be kept as text only."""

    name: str
    label: str
    value: str
    type: Literal["datetime-local", "text"] = "datetime-local"


async def frame_of(
    request: Request,
    filters: Filters,
    own: Sequence[SelectField] = (),
    *,
    unseen: Mapping[str, str] = MappingProxyType({}),
    compares: bool = False,
) -> dict[str, Any]:
    """The values that the template of such a page needs beside its own.

    `own` are fields that this page alone has, `unseen` values that its links and its form keep without a field;
    `compares` says whether it shows the period before.
    """
    visit = visit_of(request)
    language = visit.language
    choices = await house_of(request).overviews.choices()
    kept = {**unseen, **{field.name: field.chosen or None for field in own}}
    fields = (*_select_fields(filters, choices, visit.time_zone, language), *own)
    before = filters.selection.before if compares and filters.compare else None
    return {
        "filters": filters,
        "query": filters.query(),
        "own_query": filters.query(**kept),
        "here": request.url.path,
        "ranges": range_links(filters, kept, language),
        "switches": switch_links(filters, kept, language)[0 if compares else 1 :],
        "chosen": chosen_links(filters, fields, kept, language),
        "fields": fields,
        "ends": (
            EndField("from", language.gettext("From"), _local(filters.given.get("from"), filters.zone)),
            EndField("to", language.gettext("To"), _local(filters.given.get("to"), filters.zone)),
        ),
        "kept_unseen": tuple(unseen.items()),
        "again": False,
        "refused": None,
        "period": period_words(filters.selection, filters.zone, language),
        "period_before": None if before is None else period_words(before, filters.zone, language),
        "zone": zone_words(filters.selection.until, filters.zone),
    }


def range_links(filters: Filters, kept: Mapping[str, object], language: Language) -> Sequence[FilterLink]:
    words = {
        "1h": language.gettext("1 hour"),
        "24h": language.gettext("24 hours"),
        "7d": language.gettext("7 days"),
        "30d": language.gettext("30 days"),
        "all": language.gettext("All time"),
    }
    return [FilterLink(words[name], filters.query(range=name, **kept), filters.range == name) for name in RANGES]


def switch_links(filters: Filters, kept: Mapping[str, object], language: Language) -> Sequence[FilterLink]:
    """Each switches over."""
    compare, refresh = None if filters.compare else 1, None if filters.refresh else REFRESH_SECONDS
    every = language.gettext("Refresh every %(n)s s", n=language.number(REFRESH_SECONDS))
    return [
        FilterLink(language.gettext("Compare"), filters.query(**{**kept, "compare": compare}), filters.compare),
        FilterLink(every, filters.query(**{**kept, "refresh": refresh}), filters.refresh is not None),
    ]


def chosen_links(
    filters: Filters, fields: Sequence[SelectField], kept: Mapping[str, object], language: Language
) -> Sequence[FilterLink]:
    """What the selection is narrowed to; each takes its part back."""
    links = []
    if filters.range is None:
        words = language.gettext("own period")
        links.append(FilterLink(words, filters.query(**{**kept, "range": "24h"}), True))
    for field in fields:
        if field.chosen and field.name not in ("zone", "sort"):
            words = dict(field.options).get(field.chosen, field.chosen)
            links.append(FilterLink(f"{field.label}: {words}", filters.query(**{**kept, field.name: None}), True))
    return links


def period_words(selection: Selection, zone: str, language: Language) -> str:
    until = dated_moment(selection.until, zone, language)
    if selection.since is None:
        return language.gettext("everything until %(until)s", until=until)
    return f"{dated_moment(selection.since, zone, language)} – {until}"


def _select_fields(
    filters: Filters, choices: FilterChoices, own_zone: str, language: Language
) -> tuple[SelectField, ...]:
    selection = filters.selection
    users = [(str(user_id), name) for user_id, name in choices.users]
    zones = dict.fromkeys([own_zone, "UTC", filters.zone])
    return (
        _select("model", language.gettext("Model"), _pairs(choices.models), selection.model, language),
        _select("backend", language.gettext("Backend"), _pairs(choices.backends), selection.backend, language),
        _select("user", language.gettext("User"), users, selection.owner_id, language),
        SelectField("zone", language.gettext("Time zone"), tuple(_pairs(list(zones))), filters.zone),
    )


def _select(
    name: str, label: str, options: Sequence[tuple[str, str]], chosen: str | UUID | None, language: Language
) -> SelectField:
    """What is chosen is among the options even where no turn has it."""
    value = "" if chosen is None else str(chosen)
    known = [("", language.gettext("all")), *options]
    missing = [] if value in dict(known) else [(value, value)]
    return SelectField(name, label, (*known, *missing), value)


def _pairs(values: Sequence[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


def _local(end: str | None, zone: str) -> str:
    """As the browser's field of day and time has it."""
    return "" if end is None else datetime.fromisoformat(end).astimezone(ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M")
