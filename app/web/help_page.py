"""The page under `?`: keys, and what the figures of an answer mean. Scripts show the same words in a dialog."""

from starlette.requests import Request
from starlette.responses import Response

from app.web.pages import pages_of
from app.web.sidebar import around
from app.web.visit import account_of, wants_fragment


async def help_page(request: Request) -> Response:
    account_of(request)
    if wants_fragment(request):
        return pages_of(request).response(request, "fragments/help_dialog.html")
    return pages_of(request).response(request, "help.html", **await around(request))
