"""The page behind an invite's link: it makes one account and signs it in."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.auth import NewAccount
from app.errors import Conflict, InvalidInput, NotFound, TooMany
from app.web.error_pages import headers_of, status_of
from app.web.forms import field, locale_field, optional_field
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.signing_in import begin_session
from app.web.visit import house_of, remote_of, visit_of


async def invite_page(request: Request) -> Response:
    code = request.query_params.get("code", "")
    if not await house_of(request).invites.usable(code):
        return _useless(request)
    return pages_of(request).response(request, "invite.html", code=code, name="", locale="", problem=None)


async def accept_invite(request: Request) -> Response:
    new = NewAccount(
        field(request, "name"),
        field(request, "password"),
        locale_field(request),
        optional_field(request, "time_zone"),
    )
    try:
        account = await house_of(request).invites.accept(field(request, "code"), new, remote_of(request))
    except NotFound:
        return _useless(request)
    except (InvalidInput, TooMany, Conflict) as error:
        return pages_of(request).response(
            request,
            "invite.html",
            status=status_of(error),
            headers=headers_of(error),
            code=field(request, "code"),
            name=new.name,
            locale=field(request, "locale"),
            problem=error_words(error, visit_of(request).language),
        )
    response = RedirectResponse("/", 303)
    await begin_session(request, response, account)
    return response


def _useless(request: Request) -> Response:
    """In the same words whether it was used, revoked, has ended, or never was."""
    return pages_of(request).response(request, "invite_useless.html", status=404)
