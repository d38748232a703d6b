"""Middleware: a request that changes something must come from one of our own forms.

Fetch metadata or Origin must name this site, and the form must carry the token of this browser's session. The
parsed form is left in the request's state, so no view can read a body that was not checked.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.forms import UPLOAD_PATH, read_form, read_upload
from app.web.visit import SignInNeeded, house_of, visit_of, wants_fragment

FORM_TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a form field
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class FormGuardMiddleware:
    """`routes` are those behind it; what none of them takes is left to the router, which refuses it."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self.app = app
        self.routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in SAFE_METHODS and self._is_taken(scope):
            request = Request(scope, receive)
            if not comes_from_here(request.headers):
                raise HTTPException(403)
            scope["state"]["form"] = await self._checked_form(request)
        await self.app(scope, receive, send)

    def _is_taken(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self.routes)

    async def _checked_form(self, request: Request) -> dict[str, str]:
        if request.url.path == UPLOAD_PATH:
            if visit_of(request).account is None:
                raise SignInNeeded  # Before a large body is read.
            fields = await read_upload(request)
        else:
            fields = await read_form(request)
        if fields is None:
            raise HTTPException(415)
        token = visit_of(request).token
        if not house_of(request).sessions.check_form_token(token, fields.pop(FORM_TOKEN_FIELD, "")):
            if wants_fragment(request) and visit_of(request).account is None:
                raise SignInNeeded  # The session ended under an open page; its script says so and keeps the text.
            raise HTTPException(403)
        return fields


def comes_from_here(headers: Headers) -> bool:
    """True where the browser says so, and where an old one says nothing: the form token is checked too."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:  # A broken host in brackets.
        return False
