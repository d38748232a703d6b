"""What the database holds and what goes from it by itself. Operators alone have this page."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from app.conversations.retention import Due
from app.web.languages import Language
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of


@dataclass(frozen=True, slots=True)
class DueCells:
    """`now` and `next_at` are empty where nothing is ever removed."""

    days: str
    now: str
    next_at: str


async def storage(request: Request) -> Response:
    operator_of(request)
    house, visit = house_of(request), visit_of(request)
    measured = await house.storages.measure()
    language, zone = visit.language, visit.time_zone
    return pages_of(request).response(
        request,
        "operator/storage.html",
        tables=measured.tables,
        by_table=any(table.bytes is not None for table in measured.tables),
        size=bytes_words(measured.bytes, language),
        bytes_words=lambda count: bytes_words(count, language),
        oldest=language.moment(measured.oldest_turn_at, zone) if measured.oldest_turn_at else None,
        conversations=_due_cells(await house.retention.due_conversations(), language, zone),
        turns=_due_cells(await house.retention.due_turns(), language, zone),
    )


def bytes_words(count: int, language: Language) -> str:
    """In units of 1024; bytes as they are below the first."""
    if count < 1024:
        return language.gettext("%(n)s bytes", n=language.number(count))
    value, units = count / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{language.number(value, 1)} {units[0]}"


def _due_cells(due: Due, language: Language, zone: str) -> DueCells:
    if due.days is None:
        return DueCells(language.gettext("off: nothing goes by itself"), "", "")
    return DueCells(
        days=language.ngettext("after %(n)s day", "after %(n)s days", due.days),
        now=language.number(due.now),
        next_at=language.moment(due.next_at, zone) if due.next_at else language.gettext("none"),
    )
