"""Middleware: a request that changes something must come from one of our own forms.

Fetch metadata or Origin must name this site, and the form must carry the token of this browser's session. The
parsed form is left in the request's state, so no view can read a body that was not checked.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.visit import SignInNeeded, house_of, visit_of, wants_fragment

FORM_TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a form field
FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class FormGuardMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in SAFE_METHODS:
            request = Request(scope, receive)
            if not comes_from_here(request.headers):
                raise HTTPException(403)
            scope["state"]["form"] = await self._checked_form(request)
        await self.app(scope, receive, send)

    async def _checked_form(self, request: Request) -> dict[str, str]:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != FORM_MEDIA_TYPE:
            raise HTTPException(415)
        fields = {name: str(value) for name, value in (await request.form()).items()}
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
    return origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
