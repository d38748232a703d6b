"""Users as operators see them: who has an account, and what may be done about it.

For everybody else these pages do not exist.
"""

from typing import Any
from uuid import UUID

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.auth import UserRole
from app.errors import Conflict, InvalidInput, RecountError, TooMany
from app.web.error_pages import headers_of, status_of
from app.web.forms import field
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.visit import house_of, remote_of, visit_of

PAGE_LENGTH = 50


async def people(request: Request) -> Response:
    operator_of(request)
    after = _after(request)
    persons = await house_of(request).people.list(PAGE_LENGTH, after)
    return pages_of(request).response(
        request,
        "operator/people.html",
        persons=persons,
        after=after,
        following=persons[-1].id if len(persons) == PAGE_LENGTH else None,
    )


async def person(request: Request) -> Response:
    operator_of(request)
    return await _person_page(request)


async def disable(request: Request) -> Response:
    operator = operator_of(request)
    try:
        await house_of(request).people.disable(operator.id, _user_id(request), remote_of(request))
    except Conflict as error:
        return await _person_page(request, error)
    return _back(request)


async def enable(request: Request) -> Response:
    operator = operator_of(request)
    try:
        await house_of(request).people.enable(operator.id, _user_id(request), remote_of(request))
    except Conflict as error:
        return await _person_page(request, error)
    return _back(request)


async def set_role(request: Request) -> Response:
    operator = operator_of(request)
    role, password = role_field(request), field(request, "password")
    try:
        await house_of(request).people.set_role(operator.id, _user_id(request), role, password, remote_of(request))
    except (InvalidInput, TooMany, Conflict) as error:
        return await _person_page(request, error)
    return _back(request)


async def reset_password(request: Request) -> Response:
    """The page that answers is the only one that ever shows the new password."""
    operator = operator_of(request)
    password, remote = field(request, "password"), remote_of(request)
    try:
        made = await house_of(request).people.reset_password(operator.id, _user_id(request), password, remote)
    except (InvalidInput, TooMany) as error:
        return await _person_page(request, error)
    return await _person_page(request, made_password=made)


async def delete(request: Request) -> Response:
    operator = operator_of(request)
    password, remote = field(request, "password"), remote_of(request)
    try:
        await house_of(request).profiles.delete_other(operator.id, _user_id(request), password, remote)
    except (InvalidInput, TooMany, Conflict) as error:
        return await _person_page(request, error)
    return RedirectResponse("/operator/people", 303)


def role_field(request: Request) -> UserRole:
    """HTTPException 400 for what no form of ours offers."""
    role = field(request, "role")
    if role == "operator":
        return "operator"
    if role == "user":
        return "user"
    raise HTTPException(400)


async def _person_page(request: Request, error: RecountError | None = None, **values: Any) -> Response:
    found = await house_of(request).people.person(_user_id(request))
    return pages_of(request).response(
        request,
        "operator/person.html",
        status=status_of(error) if error else 200,
        headers=headers_of(error) if error else None,
        **{
            "person": found,
            "problem": error_words(error, visit_of(request).language) if error else None,
            "made_password": None,
            **values,
        },
    )


def _user_id(request: Request) -> UUID:
    user_id: UUID = request.path_params["user_id"]
    return user_id


def _back(request: Request) -> Response:
    return RedirectResponse(f"/operator/people/{_user_id(request)}", 303)


def _after(request: Request) -> UUID | None:
    try:
        return UUID(request.query_params.get("after", ""))
    except ValueError:
        return None
