"""Middleware: how often a signed-in person may send, export and open streams. Others get no further than sign-in."""

import re
from collections.abc import Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.auth.request_limits import Costly
from app.web.visit import house_of, visit_of

_EXPORTS = re.compile(
    r"/account/data(/.*)?|/conversations/[^/]+/export.*|/operator/export/.*|(/operator)?/conversations/.*turns\.(csv|jsonl)"
)
# What makes the model work counts as sending. An import is as much work as an export.
RULES: Sequence[tuple[str, re.Pattern[str], Costly]] = (
    ("POST", re.compile(r"/conversations(/[^/]+/messages(/[^/]+/(edit|regenerate|retry|continue))?)?"), "send"),
    ("GET", _EXPORTS, "export"),
    ("HEAD", _EXPORTS, "export"),
    ("POST", re.compile(r"/import"), "export"),
    ("GET", re.compile(r"/turns/[^/]+/events"), "stream"),
)


class RequestLimitsMiddleware:
    """Behind the form guard, so that a request which another site made up counts for nobody."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        costly = costly_of(scope["method"], scope["path"])
        account = visit_of(request).account
        if costly is not None and account is not None:
            await house_of(request).request_limits.count(costly, account.id)
        await self.app(scope, receive, send)


def costly_of(method: str, path: str) -> Costly | None:
    return next((costly for verb, pattern, costly in RULES if verb == method and pattern.fullmatch(path)), None)
