"""A person's own account: profile, password, sessions, and its end."""

from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.errors import Conflict, InvalidInput, RecountError, TooMany
from app.web.error_pages import headers_of, status_of
from app.web.forms import field, locale_field, optional_field
from app.web.languages import Language
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.session_cookie import cookies_of
from app.web.sidebar import server_memory
from app.web.signing_in import begin_session
from app.web.visit import account_of, house_of, remote_of, visit_of


async def account(request: Request) -> Response:
    return await _account_page(request)


async def change_profile(request: Request) -> Response:
    typed = {name: field(request, name) for name in ("time_zone", "default_system_prompt")}
    notes = bool(field(request, "context_notes"))
    try:
        await house_of(request).profiles.change(
            account_of(request).id,
            locale=locale_field(request),
            time_zone=optional_field(request, "time_zone"),
            default_system_prompt=typed["default_system_prompt"],
            context_notes=notes,
        )
    except InvalidInput as error:
        locale = field(request, "locale")
        return await _account_page(request, error, "profile", locale=locale, context_notes=notes, **typed)
    return RedirectResponse("/account?done=profile", 303)


async def change_password(request: Request) -> Response:
    owner = account_of(request)
    current, new = field(request, "current_password"), field(request, "new_password")
    try:
        await house_of(request).profiles.change_password(owner.id, current, new, remote_of(request))
    except (InvalidInput, TooMany) as error:
        return await _account_page(request, error, "password")
    response = RedirectResponse("/account?done=password", 303)
    await begin_session(request, response, owner)
    return response


async def end_session(request: Request) -> Response:
    session_id: UUID = request.path_params["session_id"]
    await house_of(request).sessions.end_one(account_of(request).id, session_id, remote_of(request))
    return RedirectResponse("/account?done=session", 303)


async def end_all_sessions(request: Request) -> Response:
    await house_of(request).temporary.end_of(account_of(request).id)
    await house_of(request).sessions.end_all(account_of(request).id, remote_of(request))
    response = RedirectResponse("/sign-in", 303)
    cookies_of(request).end_session(response)
    return response


async def confirm_delete(request: Request) -> Response:
    account_of(request)
    return _delete_page(request)


async def delete(request: Request) -> Response:
    owner = account_of(request)
    try:
        await house_of(request).profiles.delete(owner.id, field(request, "password"), remote_of(request))
    except (InvalidInput, TooMany, Conflict) as error:
        return _delete_page(request, error)
    response = RedirectResponse("/sign-in", 303)
    cookies_of(request).end_session(response)
    return response


async def _account_page(
    request: Request, error: RecountError | None = None, section: str = "", **typed: Any
) -> Response:
    """After a failed change with what was typed, passwords left out, and what went wrong in its section."""
    house, visit, owner = house_of(request), visit_of(request), account_of(request)
    profile = await house.profiles.view(owner.id)
    return pages_of(request).response(
        request,
        "account/account.html",
        status=status_of(error) if error else 200,
        headers=headers_of(error) if error else None,
        **{
            "profile": profile,
            "locale": profile.locale or "",
            "time_zone": profile.time_zone or "",
            "default_system_prompt": profile.default_system_prompt,
            "context_notes": profile.context_notes,
            "zones": request.app.state.zones,
            "sessions": await house.sessions.list(owner.id, visit.token),
            "max_characters": house.settings.max_message_characters,
            "problem": error_words(error, visit.language) if error else None,
            "section": section,
            "done": _done_words(request.query_params.get("done", ""), visit.language),
            **typed,
        },
    )


def _delete_page(request: Request, error: RecountError | None = None) -> Response:
    return pages_of(request).response(
        request,
        "account/delete.html",
        status=status_of(error) if error else 200,
        headers=headers_of(error) if error else None,
        **server_memory(request),
        problem=error_words(error, visit_of(request).language) if error else None,
    )


def _done_words(done: str, language: Language) -> str | None:
    """What the redirect after a change says; the address alone cannot make the page say anything else."""
    return {
        "profile": language.gettext("Saved."),
        "password": language.gettext("Your password is changed. All other sessions have ended."),
        "session": language.gettext("The session has ended."),
    }.get(done)
