"""Middleware: from the cookie to the account, and the visit that every view reads.

A browser without a session gets a visitor token, which ties the forms of sign-in and setup to it.
"""

import secrets
from collections.abc import Mapping
from typing import cast

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.auth import Account
from app.settings import Settings
from app.web.forms import read_form
from app.web.languages import Language, chosen_tag
from app.web.visit import Visit, house_of

SECONDS_PER_DAY = 86_400


class CookieJar:
    """The two cookies. Behind TLS their names carry `__Host-`, so that no other host or path can set them."""

    def __init__(self, settings: Settings) -> None:
        self._secure = settings.secure_cookies
        prefix = "__Host-" if self._secure else ""
        self.session_name = f"{prefix}recount-session"
        self.visitor_name = f"{prefix}recount-visitor"
        self._session_seconds = settings.session_absolute_days * SECONDS_PER_DAY

    def start_session(self, response: Response, token: str) -> None:
        self._set(response, self.session_name, token, self._session_seconds)

    def end_session(self, response: Response) -> None:
        self._set(response, self.session_name, "", 0)

    def visitor_header(self, token: str) -> str:
        """The Set-Cookie value of a visitor token; it lives as long as the browser's window."""
        response = Response()
        self._set(response, self.visitor_name, token, None)
        return response.headers["set-cookie"]

    def _set(self, response: Response, name: str, value: str, max_age: int | None) -> None:
        response.set_cookie(name, value, max_age=max_age, path="/", secure=self._secure, httponly=True, samesite="lax")


def cookies_of(request: Request) -> CookieJar:
    return cast("CookieJar", request.app.state.cookies)


class SessionMiddleware:
    def __init__(self, app: ASGIApp, cookies: CookieJar, languages: Mapping[str, Language]) -> None:
        self.app = app
        self.cookies = cookies
        self.languages = languages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        token = request.cookies.get(self.cookies.session_name, "")
        account = await self._account(request, token) if token else None
        new_visitor = False
        if account is None:
            token = request.cookies.get(self.cookies.visitor_name, "")
            new_visitor = not token
            token = token or secrets.token_urlsafe(32)
        request.state.visit = self._visit(request, account, token)

        async def send_with_visitor(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("set-cookie", self.cookies.visitor_header(token))
            await send(message)

        await self.app(scope, receive, send_with_visitor if new_visitor else send)

    async def _account(self, request: Request, token: str) -> Account | None:
        """Where the look-up itself fails, the error page still has a language, and the text that was being sent."""
        try:
            return await house_of(request).sessions.resolve(token)
        except Exception:
            request.state.visit = self._visit(request, None, token)
            if request.method == "POST":
                await read_form(request)
            raise

    def _visit(self, request: Request, account: Account | None, token: str) -> Visit:
        accepted = request.headers.get("accept-language", "")
        return Visit(
            account=account,
            token=token,
            form_token=house_of(request).sessions.form_token(token),
            language=self.languages[chosen_tag(account.locale if account else None, accepted)],
        )
