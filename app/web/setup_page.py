"""The page of the first account. It exists only until that account does."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.errors import InvalidInput, NotAllowed, NotFound
from app.web.error_pages import status_of
from app.web.forms import field, locale_field, optional_field
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.session_cookie import cookies_of
from app.web.visit import house_of, remote_of, visit_of


async def setup_page(request: Request) -> Response:
    if not await house_of(request).setup.needed():
        raise NotFound
    return pages_of(request).response(
        request, "setup.html", code=request.query_params.get("code", ""), name="", locale="", problem=None
    )


async def create_first_account(request: Request) -> Response:
    house = house_of(request)
    if not await house.setup.needed():
        raise NotFound
    try:
        account = await house.setup.create_first_account(
            field(request, "code"),
            field(request, "name"),
            field(request, "password"),
            locale_field(request),
            optional_field(request, "time_zone"),
            remote_of(request),
        )
    except (InvalidInput, NotAllowed) as error:
        return pages_of(request).response(
            request,
            "setup.html",
            status=status_of(error),
            code=field(request, "code"),
            name=field(request, "name"),
            locale=field(request, "locale"),
            problem=error_words(error, visit_of(request).language),
        )
    response = RedirectResponse("/", 303)
    cookies_of(request).start_session(response, await house.sessions.start(account.id))
    return response
