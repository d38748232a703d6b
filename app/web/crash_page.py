"""Middleware: what nobody foresaw becomes a logged fact and a plain page with the request's id."""

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.error_pages import error_response

log = structlog.stdlib.get_logger(__name__)


class CrashPageMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched_send)
        except Exception:
            # A response that has begun can only be cut; the server sees to that when the error goes on.
            if scope["type"] != "http" or started:
                raise
            log.exception("crash")
            response = error_response(Request(scope, receive), 500)
            await response(scope, receive, send)
