"""Invites as operators see them. A link is shown on the one page that answers its making, and never again."""

from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.errors import Conflict, InvalidInput, RecountError, TooMany
from app.web.error_pages import headers_of, status_of
from app.web.forms import field
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.people_pages import role_field
from app.web.problem_words import error_words
from app.web.visit import house_of, remote_of, visit_of

USUAL_DAYS = 7


async def invites(request: Request) -> Response:
    operator_of(request)
    return await _invites_page(request)


async def create_invite(request: Request) -> Response:
    operator = operator_of(request)
    role, days = role_field(request), field(request, "days")
    number = int(days) if days.isascii() and days.isdigit() and len(days) < 9 else 0
    password, remote = field(request, "password"), remote_of(request)
    try:
        code = await house_of(request).invites.create(operator.id, role, number, password, remote)
    except (InvalidInput, TooMany, Conflict) as error:
        return await _invites_page(request, error, role=role, days=days)
    return await _invites_page(request, link=f"{_site_address(request)}/invite?code={code}")


async def revoke_invite(request: Request) -> Response:
    operator = operator_of(request)
    invite_id: UUID = request.path_params["invite_id"]
    await house_of(request).invites.revoke(operator.id, invite_id, remote_of(request))
    return RedirectResponse("/operator/invites", 303)


async def _invites_page(request: Request, error: RecountError | None = None, **values: Any) -> Response:
    return pages_of(request).response(
        request,
        "operator/invites.html",
        status=status_of(error) if error else 200,
        headers=headers_of(error) if error else None,
        **{
            "invites": await house_of(request).invites.list(),
            "role": "user",
            "days": str(USUAL_DAYS),
            "link": None,
            "problem": error_words(error, visit_of(request).language) if error else None,
            **values,
        },
    )


def _site_address(request: Request) -> str:
    """As the operator's browser reached it; behind TLS always over TLS."""
    scheme = "https" if house_of(request).settings.secure_cookies else request.url.scheme
    return f"{scheme}://{request.url.netloc}"
