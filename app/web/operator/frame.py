"""What stands around every page of figures: the period in words, and the form that the filters are changed with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.requests import Request

from app.reports.overview import FilterChoices, Selection
from app.web.languages import Language
from app.web.operator.filters import RANGES, REFRESH_SECONDS, Filters
from app.web.operator.times import short_moment, zone_words
from app.web.visit import house_of, visit_of


@dataclass(frozen=True, slots=True)
class RangeLink:
    name: str
    words: str
    query: str


async def frame_of(request: Request, filters: Filters) -> dict[str, Any]:
    """The values that the templates of such a page need beside its own."""
    visit = visit_of(request)
    choices = await house_of(request).overviews.choices()
    before = filters.selection.before if filters.compare else None
    return {
        "filters": filters,
        "here": request.url.path,
        "choices": choices,
        "ranges": range_links(filters, visit.language),
        "zones": list(dict.fromkeys([visit.time_zone, "UTC", filters.zone])),
        "user_name": user_name(choices, filters.selection.owner_id),
        "period": period_words(filters.selection, filters.zone, visit.language),
        "period_before": None if before is None else period_words(before, filters.zone, visit.language),
        "zone_words": zone_words(filters.selection.until, filters.zone),
        "refresh_seconds": REFRESH_SECONDS,
    }


def range_links(filters: Filters, language: Language) -> Sequence[RangeLink]:
    words = {
        "1h": language.gettext("1 hour"),
        "24h": language.gettext("24 hours"),
        "7d": language.gettext("7 days"),
        "30d": language.gettext("30 days"),
        "all": language.gettext("All time"),
    }
    return [RangeLink(name, words[name], filters.query(range=name)) for name in RANGES]


def user_name(choices: FilterChoices, user_id: UUID | None) -> str | None:
    """The id itself for somebody without turns."""
    if user_id is None:
        return None
    return next((name for known, name in choices.users if known == user_id), str(user_id))


def period_words(selection: Selection, zone: str, language: Language) -> str:
    until = short_moment(selection.until, zone, language)
    if selection.since is None:
        return language.gettext("everything until %(until)s", until=until)
    return f"{short_moment(selection.since, zone, language)} – {until}"
