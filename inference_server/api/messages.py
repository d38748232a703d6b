"""``POST /v1/messages`` and ``/v1/messages/count_tokens``: one JSON body, or a stream of server-sent events."""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import structlog
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inference_server.api.diagnosis import Diagnosis
from inference_server.api.errors import error_body, internal_error, read_body, unavailable
from inference_server.api.generation import Generation, Generator
from inference_server.api.schemas import CountTokensRequest, MessagesRequest, parse
from inference_server.config import ServerConfig
from inference_server.engine import Admitted, Finished, Prefilled, Queued, TextGenerated
from inference_server.errors import EngineDead
from inference_server.sequence import StopReason

log = structlog.get_logger(__name__)

PROGRESS_S = 0.25
"""Pings with prefill progress are at least this far apart."""


async def create_message(request: Request) -> Response:
    """Answer a conversation."""
    generator: Generator = request.app.state.generator
    config: ServerConfig = request.app.state.config
    body = await read_body(request, config.max_body_bytes)
    parsed = await anyio.to_thread.run_sync(parse, MessagesRequest, body)
    generation = await anyio.to_thread.run_sync(generator.prepare, parsed)
    if not parsed.stream:
        return await _until_disconnected(request, generator, generation)
    return EventSourceResponse(
        _events(request, generator, generation),
        ping=config.ping_s,
        ping_message_factory=lambda: _event("ping"),
        send_timeout=config.send_timeout_s,
        sep="\n",
    )


async def count_tokens(request: Request) -> Response:
    """Count a conversation's prompt tokens without running it."""
    generator: Generator = request.app.state.generator
    body = await read_body(request, request.app.state.config.max_body_bytes)
    parsed = await anyio.to_thread.run_sync(parse, CountTokensRequest, body)
    return JSONResponse({"input_tokens": await anyio.to_thread.run_sync(generator.count, parsed)})


async def _until_disconnected(request: Request, generator: Generator, generation: Generation) -> Response:
    """Answer with one body; a caller that goes away aborts its request."""
    response: Response = Response(status_code=499)
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            response = await _whole(request, generator, generation)
        except EngineDead as error:
            response = await unavailable(request, error)
        group.cancel_scope.cancel()
    return response


async def _whole(request: Request, generator: Generator, generation: Generation) -> Response:
    text: list[str] = []
    message: dict[str, Any] = {}
    async with aclosing(generator.run(generation)) as events:
        async for event in events:
            if isinstance(event, Admitted):
                message = _message(request, generation, event)
            elif isinstance(event, TextGenerated):
                text.append(event.text)
            elif isinstance(event, Finished):
                if event.reason is StopReason.FAILED:
                    return internal_error(request)
                message["stop_reason"], message["stop_sequence"] = event.reason.value, event.stop_sequence
                message["usage"]["output_tokens"] = event.output_tokens
    message["content"] = [{"type": "text", "text": "".join(text)}]
    return JSONResponse(message)


async def _events(request: Request, generator: Generator, generation: Generation) -> AsyncIterator[ServerSentEvent]:
    yield _event("ping")
    try:
        async with aclosing(_stream(request, generator, generation)) as stream:
            async for event in stream:
                yield event
    except EngineDead:
        yield _event("error", error=error_body(request, "api_error", "the engine has stopped")["error"])
    except Exception:
        log.exception("stream_failed")
        yield _event("error", error=error_body(request, "api_error", "internal server error")["error"])


async def _stream(
    request: Request, generator: Generator, generation: Generation
) -> AsyncGenerator[ServerSentEvent, None]:
    """The events of one answer, in the wire's order."""
    told = 0.0
    message: dict[str, Any] = {}
    async with aclosing(generator.run(generation)) as events:
        async for event in events:
            if isinstance(event, Admitted):
                message = _message(request, generation, event)
                yield _event("message_start", message=message)
                yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            elif isinstance(event, Queued):
                yield _event("ping", queue={"position": event.position})
            elif isinstance(event, Prefilled):
                if time.monotonic() - told >= PROGRESS_S and event.processed < event.total:
                    told = time.monotonic()
                    progress = {"total": event.total, "cached": event.cached, "processed": event.processed}
                    yield _event("ping", prefill=progress)
            elif isinstance(event, TextGenerated):
                if event.text:
                    delta = {"type": "text_delta", "text": event.text}
                    yield _event("content_block_delta", index=0, delta=delta)
            elif event.reason is StopReason.FAILED:
                yield _event("error", error={"type": "api_error", "message": "the request failed in the engine"})
            else:
                usage = {**message["usage"], "output_tokens": event.output_tokens}
                ending = {"stop_reason": event.reason.value, "stop_sequence": event.stop_sequence}
                yield _event("content_block_stop", index=0)
                yield _event("message_delta", delta=ending, usage=usage)
                yield _event("message_stop")


def _message(request: Request, generation: Generation, admitted: Admitted) -> dict[str, Any]:
    """What is known of a message from its admission on, which is all but its content and its ending."""
    generator: Generator = request.app.state.generator
    diagnosis: Diagnosis = request.app.state.diagnosis
    return {
        "id": generation.record.id,
        "type": "message",
        "role": "assistant",
        "model": generator.model.id,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": generation.usage(admitted, 0),
        **diagnosis.of(generation),
    }


def _event(name: str, **fields: Any) -> ServerSentEvent:
    """One event: its data is one line of JSON that repeats the event's name.

    In ASCII, because many readers take U+2028 and its like, which text may have in it, for the end of a line.
    """
    data = json.dumps({"type": name, **fields}, separators=(",", ":"), allow_nan=False)
    return ServerSentEvent(event=name, data=data, sep="\n")
