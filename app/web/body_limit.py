"""Middleware: a request body has an upper size. What is larger is refused while it is read, so that the refusal
becomes one of our error pages like any other."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimitMiddleware:
    """`max_bytes` counts what arrives; a larger announced length is refused before anything is read.

    `larger` has the paths that take more, each with its own limit.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, larger: Mapping[str, int]) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        max_bytes = self.larger.get(scope["path"], self.max_bytes)
        seen = 0

        async def limited_receive() -> Message:
            nonlocal seen
            if announced.isdecimal() and int(announced) > max_bytes:
                raise HTTPException(413)
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > max_bytes:
                raise HTTPException(413)
            return message

        await self.app(scope, limited_receive, send)
