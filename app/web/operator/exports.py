"""Downloads of the operator's tables, with the filters of their pages. For everybody else they do not exist."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from app.reports import Overviews
from app.reports.marks import RankMark
from app.reports.overview import RankedConversation, Selection
from app.reports.ranking import RankingSort
from app.serving_events import SERVER_START
from app.web.operator import export_tables
from app.web.operator.backend_states import speeds_of
from app.web.operator.conversations_page import sort_of
from app.web.operator.export_tables import PricedProblem, StartedBackend, TimedBucket
from app.web.operator.filters import Filters, filters_of
from app.web.operator.overview_look import backends_of
from app.web.operator.turns_page import turn_filter_of
from app.web.operator_pages import operator_of
from app.web.table_files import Table
from app.web.table_response import shape_of, table_response
from app.web.visit import account_of, house_of, remote_of

CHUNK: Final = 500
Row = TypeVar("Row")


async def problems(request: Request) -> Response:
    filters = _begun(request)
    house = house_of(request)
    found = await house.overviews.problems(filters.selection, house.clock())
    rows = [*found.faults, *found.on_purpose, *found.rounding]
    speeds = await speeds_of(house, (row.key.backend for row in rows))
    priced = []
    for row in rows:
        speed = speeds.get(row.key.backend or "")
        priced.append(PricedProblem(row, None if speed is None else row.lost_tokens / speed))
    return await _file(request, filters, export_tables.PROBLEMS, _each(priced))


async def conversations(request: Request) -> Response:
    filters, sort = _begun(request), sort_of(request)
    rows = _ranked(house_of(request).overviews, filters.selection, sort)
    return await _file(request, filters, export_tables.CONVERSATIONS, rows)


async def turns(request: Request) -> Response:
    filters, narrowed = _begun(request), turn_filter_of(request)
    rows = house_of(request).overviews.every_turn(
        filters.selection,
        outcome=narrowed.outcome,
        group=narrowed.group,
        status=narrowed.status,
        error_type=narrowed.error_type,
        chunk=CHUNK,
    )
    return await _file(request, filters, export_tables.TURNS, rows)


async def series(request: Request) -> Response:
    filters = _begun(request)
    found = await house_of(request).overviews.series(filters.selection, ZoneInfo(filters.zone))
    step_s = int(found.step.total_seconds())
    rows = _each(TimedBucket(bucket, step_s) for bucket in found.buckets)
    return await _file(request, filters, export_tables.SERIES, rows)


async def errors(request: Request) -> Response:
    filters = _begun(request)
    rows = await house_of(request).overviews.errors(filters.selection)
    return await _file(request, filters, export_tables.ERRORS, _each(rows))


async def backends(request: Request) -> Response:
    filters = _begun(request)
    house = house_of(request)
    marks = await house.overviews.marks(filters.selection)
    since = {mark.backend: mark.at for mark in marks if mark.kind == SERVER_START}
    states = await backends_of(house, filters.selection)
    rows = (StartedBackend(state, since.get(state.settings.name)) for state in states)
    return await _file(request, filters, export_tables.BACKENDS, _each(rows))


TABLES: Final = {
    "problems": problems,
    "conversations": conversations,
    "turns": turns,
    "series": series,
    "errors": errors,
    "backends": backends,
}


async def conversation_turns(request: Request) -> Response:
    operator_of(request)
    shape_of(request)
    report = await house_of(request).reports.conversation(request.path_params["conversation_id"])
    return await _turns_of(request, report.reference, report.turns, operators_only=True)


async def own_conversation_turns(request: Request) -> Response:
    owner = account_of(request)
    shape_of(request)
    report = await house_of(request).reports.own_conversation(owner.id, request.path_params["conversation_id"])
    return await _turns_of(request, report.reference, report.turns, operators_only=False)


def _begun(request: Request) -> Filters:
    """Whatever is wrong with the address is found before anything is read. FilterError."""
    operator_of(request)
    shape_of(request)
    return filters_of(request)


async def _file(request: Request, filters: Filters, table: Table[Any], rows: AsyncIterator[Any]) -> Response:
    file = request.url.path.rsplit("/", 1)[1]
    if request.method == "GET":
        await house_of(request).audit_log.table_exported(account_of(request).id, file, remote_of(request))
    name = f"{file.partition('.')[0]}-{filters.selection.until:%Y%m%dT%H%M%SZ}"
    return await table_response(request, name, table, rows, operators_only=True)


async def _turns_of(request: Request, reference: str, rows: Iterable[Any], *, operators_only: bool) -> Response:
    if request.method == "GET":
        await house_of(request).audit_log.turns_exported(account_of(request).id, reference, remote_of(request))
    table = export_tables.CONVERSATION_TURNS
    return await table_response(request, f"{reference}-turns", table, _each(rows), operators_only)


async def _each(rows: Iterable[Row]) -> AsyncIterator[Row]:
    for row in rows:
        yield row


async def _ranked(overviews: Overviews, selection: Selection, sort: RankingSort) -> AsyncIterator[RankedConversation]:
    """Page after page; nothing of the database is held while the browser reads."""
    after: RankMark | None = None
    while True:
        page = await overviews.ranking(selection, sort, after, CHUNK)
        for row in page.rows:
            yield row
        after = page.after
        if after is None:
            return
