"""The routes of inspection. They show what was said, so a server without a key does not have them open."""

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inference_server.api.errors import read_body
from inference_server.api.generation import Generator
from inference_server.api.inspection import Inspection
from inference_server.api.schemas import AttentionRequest, Body, CompareRequest, ForgetRequest, parse
from inference_server.errors import Forbidden


async def show_tokens(request: Request) -> Response:
    """Each token of a message: position, id, text, whose it is, and whether it was cached, computed or generated."""
    inspection = _inspection(request)
    return JSONResponse(inspection.tokens(inspection.record(request.path_params["message_id"])))


async def show_attention(request: Request) -> Response:
    """Where one position of a message looks."""
    inspection = _inspection(request)
    record = inspection.record(request.path_params["message_id"])
    asked = await _body(request, AttentionRequest)
    return JSONResponse(await inspection.attention(record, asked.position, asked.layer, asked.head, asked.top))


async def compare(request: Request) -> Response:
    """Two conversations: how many tokens each has, how many they share, and where they part. Neither is run."""
    inspection, generator = _inspection(request), _generator(request)
    asked = await _body(request, CompareRequest)
    a, b = [await anyio.to_thread.run_sync(generator.prompt, side) for side in (asked.a, asked.b)]
    return JSONResponse(inspection.difference((a[0], a[1].places), (b[0], b[1].places)))


async def forget(request: Request) -> Response:
    """Drop what is remembered of messages: records, the tokens of answers, and what only they have in the cache."""
    inspection = _inspection(request)
    return JSONResponse(await inspection.forget((await _body(request, ForgetRequest)).ids))


async def show_cache(request: Request) -> Response:
    """The cache as a whole. It names nobody."""
    return JSONResponse({"serving_id": _generator(request).serving_id, **await _inspection(request).cache()})


def _generator(request: Request) -> Generator:
    generator: Generator = request.app.state.generator
    return generator


def _inspection(request: Request) -> Inspection:
    """Raises Forbidden."""
    if request.app.state.config.key is None:
        raise Forbidden("inspection shows what was said, so it needs a server that was started with a key")
    inspection: Inspection = request.app.state.inspection
    return inspection


async def _body(request: Request, kind: type[Body]) -> Body:
    return await anyio.to_thread.run_sync(
        parse, kind, await read_body(request, request.app.state.config.max_body_bytes)
    )
