"""Errors to responses: a page for people, JSON for event streams, a paragraph for our own script.

Each names the request's id, which the log holds too. Foreign and missing things look the same. The text of a message
that was being sent comes back in the page, in a form that sends it again; our script keeps it by itself.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from app.errors import Conflict, InvalidInput, NotAllowed, NotFound, RecountError, TooMany
from app.web.form_guard import comes_from_here
from app.web.forms import CHOICE_FIELDS, typed_of
from app.web.pages import pages_of
from app.web.session_cookie import cookies_of
from app.web.visit import SignInNeeded, house_of, visit_of, wants_fragment

_STATUS_OF: Mapping[type[RecountError], int] = {
    InvalidInput: 400,
    NotAllowed: 403,
    NotFound: 404,
    Conflict: 409,
    TooMany: 429,
}


def status_of(error: RecountError) -> int:
    return next((status for kind, status in _STATUS_OF.items() if isinstance(error, kind)), 500)


def headers_of(error: RecountError) -> dict[str, str]:
    return {"retry-after": str(error.retry_after)} if isinstance(error, TooMany) else {}


def error_response(request: Request, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Works as well where the request failed before anything was known about its sender."""
    request_id = request.state.request_id
    if _wants_json(request):
        error = {"status": status, "request_id": request_id}
        return JSONResponse({"error": error}, status, headers)
    if not hasattr(request.state, "visit"):
        return PlainTextResponse(f"Error {status}. Request {request_id}.", status, headers)
    template = "fragments/error.html" if wants_fragment(request) else "error.html"
    response = pages_of(request).response(
        request,
        template,
        status=status,
        headers=headers,
        code=status,
        request_id=request_id,
        typed=_own_text(request),
        choice_fields=CHOICE_FIELDS,
        action=request.url.path,
    )
    token = visit_of(request).token
    if token not in request.cookies.values():
        # A new visitor's error has passed by the middleware that sets the cookie; the form in the page needs it.
        response.headers.append("set-cookie", cookies_of(request).visitor_header(token))
    return response


async def on_http_exception(request: Request, error: HTTPException) -> Response:
    return error_response(request, error.status_code, error.headers)


async def on_recount_error(request: Request, error: RecountError) -> Response:
    return error_response(request, status_of(error), headers_of(error))


async def on_sign_in_needed(request: Request, error: SignInNeeded) -> Response:
    """To the sign-in page and back again; to the first account's page while there is no account."""
    if wants_fragment(request) or _wants_json(request):
        return error_response(request, 401)
    if _own_text(request) is not None:
        return error_response(request, 401)
    if await house_of(request).setup.needed():
        return RedirectResponse("/setup", 303)
    wanted = request.url.path if request.method in ("GET", "HEAD") else "/"
    return RedirectResponse("/sign-in" if wanted == "/" else f"/sign-in?next={quote(wanted)}", 303)


def _own_text(request: Request) -> dict[str, str] | None:
    """The message that was being sent, unless another site has put it into the visitor's mouth."""
    return typed_of(request) if comes_from_here(request.headers) else None


def _wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return "text/event-stream" in accepted or "application/json" in accepted


EXCEPTION_HANDLERS: Mapping[Any, Any] = {
    HTTPException: on_http_exception,
    RecountError: on_recount_error,
    SignInNeeded: on_sign_in_needed,
}
