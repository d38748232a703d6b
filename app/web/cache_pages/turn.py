"""One turn: why it hit or missed, how its time was spent, its tokens, and where the model looked."""

from starlette.requests import Request
from starlette.responses import Response

from app.reports import TurnReport
from app.web.cache_pages.inspection import inspect
from app.web.cache_pages.places import Places, operators_places, owners_places
from app.web.cache_pages.reading import audited_reading
from app.web.cache_pages.time_split import BAR_WIDTH, time_split_of
from app.web.cache_pages.turn_cells import BLOCK_TOKENS, cells_of
from app.web.cache_pages.verdict import lossy_backends, lost_seconds
from app.web.figure_words import model_words, tokens_words
from app.web.operator.backend_states import speeds_of
from app.web.operator_pages import operator_of
from app.web.outcome_words import group_words, outcome_words
from app.web.pages import pages_of
from app.web.turn_layers import lost_tokens
from app.web.visit import account_of, house_of, visit_of


async def operator_turn(request: Request) -> Response:
    operator = operator_of(request)
    report = await house_of(request).reports.turn(request.path_params["turn_id"])
    subject = report.reference or str(report.row.figures.id)
    readable = await audited_reading(request, operator, subject)
    return await _page(request, report, operators_places(report.conversation_id), readable=readable)


async def own_turn(request: Request) -> Response:
    owner, conversation_id = account_of(request), request.path_params["conversation_id"]
    report = await house_of(request).reports.own_turn(owner.id, conversation_id, request.path_params["turn_id"])
    return await _page(request, report, owners_places(conversation_id), readable=True)


async def _page(request: Request, report: TurnReport, places: Places, *, readable: bool) -> Response:
    house, visit = house_of(request), visit_of(request)
    language, row = visit.language, report.row
    inspection = await inspect(request, report, readable=readable)
    kv_tokens = row.kv_tokens_at_end
    return pages_of(request).response(
        request,
        "cache/turn.html",
        status=400 if inspection.problem else 200,
        places=places,
        report=report,
        figures=row.figures,
        cells=cells_of(row, language, visit.time_zone),
        words=outcome_words(row.figures.outcome, language),
        group=group_words(row.figures.outcome.group, language),
        lost=lost_tokens(row.figures),
        lost_seconds=await _lost_seconds(request, report),
        model=model_words(row.figures, language),
        kv_in_blocks=tokens_words(
            None if kv_tokens is None else kv_tokens // BLOCK_TOKENS * BLOCK_TOKENS, row.figures, language, final=True
        ),
        kv_blocks=None if kv_tokens is None else kv_tokens // BLOCK_TOKENS,
        parting=await house.partings.of(row.figures.id) if readable else None,
        readable=readable,
        time_split=time_split_of(row.figures),
        bar_width=BAR_WIDTH,
        inspection=inspection,
        here=places.turn(row.figures.id),
    )


async def _lost_seconds(request: Request, report: TurnReport) -> float | None:
    rows = [report.row]
    return lost_seconds(rows, await speeds_of(house_of(request), lossy_backends(rows)))
