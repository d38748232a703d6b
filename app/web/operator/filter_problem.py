"""The page for an address whose filters cannot be used: what is allowed, and the form with what was typed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from app.web.operator.filters import FilterError, Filters, given_of, read_filters
from app.web.operator.frame import EndField, frame_of
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of

OVERVIEW: Final = "/operator"
PAGES_WITH_FORM: Final = frozenset({OVERVIEW, "/operator/turns", "/operator/conversations"})
OWN_FIELDS: Final = ("outcome", "group", "status", "error", "sort")
"""What only one of the pages has in its form."""


async def on_filter_error(request: Request, error: FilterError) -> Response:
    """Only those who may see these pages come here from one of them: a page asks who visits before it reads filters."""
    frame = await _frame_again(request, error) if request.url.path in PAGES_WITH_FORM else {}
    problem = None if frame.get("refused") else error.message
    return pages_of(request).response(request, "operator/filter_problem.html", status=400, problem=problem, **frame)


async def _frame_again(request: Request, error: FilterError) -> dict[str, Any]:
    """The form with what was typed. `refused` is the error where its field is to be seen in the form."""
    given, language = given_of(request), visit_of(request).language
    filters = _usable(request, given)
    own = {name: request.query_params.get(name) for name in OWN_FIELDS if name != error.field}
    unseen = {name: value for name, value in own.items() if value}
    frame = await frame_of(request, filters, unseen=unseen, compares=request.url.path == OVERVIEW)
    frame["ends"] = (
        _typed_end("from", language.gettext("From"), given.get("from", ""), filters.zone),
        _typed_end("to", language.gettext("To"), given.get("to", ""), filters.zone),
    )
    seen = {field.name for field in (*frame["fields"], *frame["ends"])}
    return {**frame, "again": True, "refused": error if error.field in seen else None}


def _usable(request: Request, given: Mapping[str, str]) -> Filters:
    """Of what was given, all that can be used."""
    left, visit = dict(given), visit_of(request)
    while True:
        try:
            return read_filters(left, house_of(request).clock(), visit.time_zone, visit.language)
        except FilterError as error:
            del left[error.field]  # Only what is given is refused.


def _typed_end(name: str, label: str, typed: str, zone: str) -> EndField:
    """As the browser's field of day and time has it, and as text where it is no time."""
    try:
        at = datetime.fromisoformat(typed.replace(" ", "+") if "T" in typed else typed)
        local = at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) if at.tzinfo else at
    except (ValueError, OverflowError):
        return EndField(name, label, typed, "text" if typed else "datetime-local")
    return EndField(name, label, local.isoformat(timespec="minutes"))


FILTER_HANDLERS: Mapping[Any, Any] = {FilterError: on_filter_error}
