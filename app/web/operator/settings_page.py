"""Every setting with its value, to be read only; a secret is only said to be set. Operators alone have this page."""

from starlette.requests import Request
from starlette.responses import Response

from app.shown_settings import shown_backend, shown_settings
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import house_of


async def settings(request: Request) -> Response:
    operator_of(request)
    values = house_of(request).settings
    return pages_of(request).response(
        request,
        "operator/settings.html",
        settings=shown_settings(values),
        backends=[(backend.name, shown_backend(backend)) for backend in values.resolved_backends()],
    )
