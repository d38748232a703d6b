"""The page for an address whose filters cannot be used: which one, what is allowed, and the way back."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.web.operator.filters import FilterError
from app.web.pages import pages_of


async def on_filter_error(request: Request, error: FilterError) -> Response:
    return pages_of(request).response(request, "operator/filter_problem.html", status=400, problem=error.message)


FILTER_HANDLERS: Mapping[Any, Any] = {FilterError: on_filter_error}
