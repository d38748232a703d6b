"""Signing in and out."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.auth import Account
from app.errors import InvalidInput, TooMany
from app.web.error_pages import headers_of, status_of
from app.web.forms import field, local_path
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.session_cookie import cookies_of
from app.web.visit import house_of, remote_of, visit_of


async def sign_in_page(request: Request) -> Response:
    wanted = local_path(request.query_params.get("next", "/"))
    if visit_of(request).account is not None:
        return RedirectResponse(wanted, 303)
    if await house_of(request).setup.needed():
        return RedirectResponse("/setup", 303)
    return pages_of(request).response(request, "sign_in.html", name="", next=wanted, problem=None)


async def sign_in(request: Request) -> Response:
    house = house_of(request)
    wanted = local_path(field(request, "next"))
    try:
        account = await house.accounts.sign_in(field(request, "name"), field(request, "password"), remote_of(request))
    except (InvalidInput, TooMany) as error:
        return pages_of(request).response(
            request,
            "sign_in.html",
            status=status_of(error),
            headers=headers_of(error),
            name=field(request, "name"),
            next=wanted,
            problem=error_words(error, visit_of(request).language),
        )
    response = RedirectResponse(wanted, 303)
    await begin_session(request, response, account)
    return response


async def begin_session(request: Request, response: Response, account: Account) -> None:
    """With a new token; the one that this browser had before is worth nothing any more."""
    visit = visit_of(request)
    replaced = visit.token if visit.account is not None else None
    token = await house_of(request).sessions.start(account.id, replaces=replaced)
    cookies_of(request).start_session(response, token)


async def sign_out(request: Request) -> Response:
    visit = visit_of(request)
    response = RedirectResponse("/sign-in", 303)
    if visit.account is not None:
        await house_of(request).temporary.end_of(visit.account.id)
        await house_of(request).sessions.end(visit.token, remote_of(request))
        cookies_of(request).end_session(response)
    return response
