"""What an open page asks for now and then: whether the model server answers."""

from starlette.requests import Request
from starlette.responses import Response

from app.web.pages import pages_of
from app.web.visit import account_of, house_of


async def backend_banner(request: Request) -> Response:
    account_of(request)
    return pages_of(request).response(
        request, "fragments/backend_banner.html", backend_away=house_of(request).backend_watch.away
    )
