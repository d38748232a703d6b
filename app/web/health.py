"""Whether this process answers. It asks nobody else, so that it stays cheap and says only what it knows."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response


async def health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})
