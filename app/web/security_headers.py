"""Middleware: the headers that every response carries, and the nonce that its own scripts carry.

Scripts run only with this response's nonce; nothing inline, nothing from elsewhere, no remote images.
"""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.assets import STATIC_PREFIX

_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_FIXED = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_STRICT_TRANSPORT = "max-age=31536000"
_STATIC_CACHING = "public, max-age=31536000, immutable"  # Their folder's name changes with their contents.


class SecurityHeadersMiddleware:
    """`secure` says that browsers reach us over TLS only."""

    def __init__(self, app: ASGIApp, secure: bool) -> None:
        self.app = app
        self.secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(18)
        scope.setdefault("state", {})["nonce"] = nonce

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add(MutableHeaders(scope=message), nonce, scope["path"], message["status"])
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _add(self, headers: MutableHeaders, nonce: str, path: str, status: int) -> None:
        headers["content-security-policy"] = _POLICY.format(nonce=nonce)
        headers.update(_FIXED)
        if self.secure:
            headers["strict-transport-security"] = _STRICT_TRANSPORT
        if path.startswith(STATIC_PREFIX) and status in (200, 206, 304):
            headers["cache-control"] = _STATIC_CACHING
        else:
            headers.setdefault("cache-control", "no-store")
