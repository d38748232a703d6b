"""What every request passes first: it gets an id, and under ``/v1`` it needs the key. Nothing of the body is read."""

import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inference_server.api.errors import refuse
from inference_server.errors import Unauthorized


class Door:
    """ASGI middleware: request ids and the key."""

    def __init__(self, app: ASGIApp, key: str | None) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer 401."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = scope["recount.request_id"] = f"req_{secrets.token_hex(12)}"

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["request-id"] = request_id
            await send(message)

        if scope["path"].startswith("/v1/") and not self._may_enter(Headers(scope=scope)):
            response = await refuse(Request(scope), Unauthorized("the API key is missing or wrong"))
            await response(scope, receive, send_with_id)
            return
        await self._app(scope, receive, send_with_id)

    def _may_enter(self, headers: Headers) -> bool:
        if self._key is None:
            return True
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        return any(
            secrets.compare_digest(given.encode(), self._key.encode())
            for given in (headers.get("x-api-key", ""), bearer)
        )
