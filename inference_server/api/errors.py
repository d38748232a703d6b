"""Error bodies, in the wire's one shape, and the reading of request bodies within their limit."""

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from inference_server.errors import EngineDead, InvalidRequest, RequestError, TooLarge

log = structlog.get_logger(__name__)

_HTTP_TYPES = {404: "not_found_error", 405: "invalid_request_error"}


def error_body(request: Request, kind: str, message: str) -> dict[str, object]:
    """The JSON of an error."""
    request_id = request.scope.get("recount.request_id")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


async def refuse(request: Request, error: Exception) -> Response:
    """Handler for what a caller got wrong."""
    assert isinstance(error, RequestError)
    headers = {} if error.retry_after_s is None else {"retry-after": str(error.retry_after_s)}
    body = error_body(request, error.type, error.message)
    return JSONResponse(body, status_code=error.status, headers=headers)


async def unavailable(request: Request, error: Exception) -> Response:
    """Handler for a dead engine."""
    assert isinstance(error, EngineDead)
    return JSONResponse(error_body(request, "api_error", str(error)), status_code=503)


async def http_error(request: Request, error: Exception) -> Response:
    """Handler for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    kind = _HTTP_TYPES.get(error.status_code, "invalid_request_error")
    return JSONResponse(error_body(request, kind, error.detail), status_code=error.status_code, headers=error.headers)


async def crash(request: Request, error: Exception) -> Response:
    """Handler for our own faults: logged whole, told as little as possible."""
    log.error("request_crashed", path=request.url.path, exc_info=error)
    return internal_error(request)


def internal_error(request: Request) -> Response:
    """The answer to a fault of ours."""
    return JSONResponse(error_body(request, "api_error", "internal server error"), status_code=500)


async def client_left(_request: Request, error: Exception) -> Response:
    """Handler for a caller that went away while sending; nobody reads this."""
    assert isinstance(error, ClientDisconnect)
    return Response(status_code=499)


async def read_body(request: Request, limit: int) -> bytes:
    """Read a JSON body of at most ``limit`` bytes. Raises TooLarge or InvalidRequest."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise InvalidRequest("content-type", "must be application/json")
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > limit:
        raise TooLarge(f"the body may have at most {limit} bytes")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge(f"the body may have at most {limit} bytes")
    return bytes(body)
