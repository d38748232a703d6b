"""The operator's overview: whether anything was lost, why, what it cost and what to do about it."""

from starlette.requests import Request
from starlette.responses import Response

from app.web.operator.filters import filters_of
from app.web.operator.frame import frame_of
from app.web.operator.overview_look import look_at
from app.web.operator.overview_words import words_of
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of


async def overview(request: Request) -> Response:
    operator_of(request)
    filters = filters_of(request)
    look = await look_at(house_of(request), filters)
    return pages_of(request).response(
        request,
        "operator/overview.html",
        **await frame_of(request, filters, compares=True),
        **words_of(look, filters, visit_of(request).language),
    )
