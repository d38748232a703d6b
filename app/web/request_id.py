"""Middleware: gives each request an id, answers with it, and writes one log line per request.

The line holds the route's template and never the query or the body: codes and messages stay out of logs.
"""

import time
import uuid

import structlog
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.assets import STATIC_PREFIX

REQUEST_ID_HEADER = "x-request-id"

log = structlog.stdlib.get_logger(__name__)


class RequestIdMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0
        started_at = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self.app(scope, receive, send_with_id)
            finally:
                # A page loads several static files; they are of interest only where details are asked for.
                write = log.debug if scope["path"].startswith(STATIC_PREFIX) else log.info
                write(
                    "request",
                    method=scope["method"],
                    route=getattr(scope.get("route"), "path", None),
                    status=status,
                    duration_ms=round(1000 * (time.perf_counter() - started_at)),
                )
