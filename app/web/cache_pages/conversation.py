"""The turns of one conversation and what the cache did for each, for its owner and for operators."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.reports import ConversationReport, TurnRow
from app.web.cache_pages.branch_choice import choose, states_of
from app.web.cache_pages.neighbours import Around, ranking_around
from app.web.cache_pages.places import Places, operators_places, owners_places
from app.web.cache_pages.reading import audited_title
from app.web.cache_pages.turn_cells import cells_of
from app.web.cache_pages.verdict import lossy_backends, lossy_rows, verdict_of
from app.web.figure_words import status_words
from app.web.operator.backend_states import speeds_of
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.turn_chart import chart_of
from app.web.turn_layers import layers_of
from app.web.turn_totals import Total, totals_of
from app.web.visit import account_of, house_of, visit_of


async def operator_conversation(request: Request) -> Response:
    operator = operator_of(request)
    report = await house_of(request).reports.conversation(request.path_params["conversation_id"])
    around = await ranking_around(request, report.id)
    title = await audited_title(request, operator, report.id, report.reference)
    return await _page(request, report, operators_places(report.id), title=title, around=around)


async def own_conversation(request: Request) -> Response:
    owner, conversation_id = account_of(request), request.path_params["conversation_id"]
    reports = house_of(request).reports
    report = await reports.own_conversation(owner.id, conversation_id)
    return await _page(request, report, owners_places(report.id), title=await reports.title(report.id))


async def _page(
    request: Request, report: ConversationReport, places: Places, *, title: str | None, around: Around | None = None
) -> Response:
    visit = visit_of(request)
    language, zone = visit.language, visit.time_zone
    chosen = choose(report, request.query_params.get("branch", ""), language)
    speeds = await speeds_of(house_of(request), lossy_backends(chosen.rows))
    counted = states_of(chosen.rows)
    values: dict[str, Any] = {
        "states": [
            (status_words(row.figures, language), counted[row.figures.status])
            for row in {row.figures.status: row for row in chosen.rows}.values()
        ],
        "rows": [cells_of(row, language, zone, shared=row.figures.id in chosen.shared) for row in chosen.rows],
    }
    return pages_of(request).response(
        request,
        "cache/conversation.html",
        status=400 if chosen.problem else 200,
        places=places,
        report=report,
        title=title,
        around=around,
        chosen=chosen,
        verdict=verdict_of(chosen.rows, speeds, language) if chosen.rows else None,
        chart=chart_of(chosen.rows, chosen.shared),
        totals=totals_of([row.figures for row in chosen.rows]),
        lossy=bool(lossy_rows(chosen.rows)),
        new=_new(chosen.rows),
        zone=zone,
        **values,
    )


def _new(rows: Sequence[TurnRow]) -> Total:
    known = [layers.new for row in rows if (layers := layers_of(row.figures)) is not None]
    return Total(sum(known) if known else None, len(known))
