"""What a person's own turns have used: per day for a month, and in all. Not reported is never 0."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from babel.dates import format_date
from starlette.requests import Request
from starlette.responses import Response

from app.reports import Usage, Used
from app.web.languages import Language
from app.web.pages import pages_of
from app.web.usage_chart import day_chart_of
from app.web.visit import account_of, house_of, visit_of

DAYS = 30


@dataclass(frozen=True, slots=True)
class UsageCells:
    """One row in words; `cells` are prompt, cached, computed and written, each with its coverage."""

    label: str
    turns: str
    cells: tuple[tuple[str, str], ...]


async def usage(request: Request) -> Response:
    house, visit, owner = house_of(request), visit_of(request), account_of(request)
    zone = ZoneInfo(visit.time_zone)
    days = await house.usages.by_day(owner.id, house.clock().astimezone(zone).date(), DAYS, zone)
    language = visit.language
    return pages_of(request).response(
        request,
        "account/usage.html",
        chart=day_chart_of(days),
        days=[
            cells_of(format_date(each.day, "medium", locale=language.tag), each.usage, language)
            for each in reversed(days)
        ],
        total=cells_of(language.gettext("All time"), await house.usages.total(owner.id), language),
        zone=zone.key,
    )


def cells_of(label: str, usage: Usage, language: Language) -> UsageCells:
    figures = (usage.prompt, usage.cached, usage.computed, usage.written)
    return UsageCells(
        label, language.number(usage.turns), tuple(_cell(each, usage.turns, language) for each in figures)
    )


def _cell(used: Used, turns: int, language: Language) -> tuple[str, str]:
    if not turns:
        return language.number(0), ""  # Nothing was sent, so nothing was used.
    coverage = language.gettext(
        "%(covered)s of %(all)s turns reported", covered=language.number(used.covered), all=language.number(turns)
    )
    words = language.gettext("not reported") if used.tokens is None else language.number(used.tokens)
    return words, coverage
