"""From one server-sent event to the stream events that it stands for. Keeps no state and checks no order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel

from inference_client.errors import ProtocolError, class_for_type
from inference_client.events import (
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    Prefill,
    StreamEvent,
    TextDelta,
)
from inference_client.messages import Usage
from inference_client.wire import BlockShape, ErrorShape, MessageShape, fit, parse_json

Payload = Mapping[str, object]
UNNAMED = "message"  # What the SSE standard calls an event that gives no name.


class _MessageStartShape(BaseModel):
    message: MessageShape


class _BlockStartShape(BaseModel):
    index: int
    content_block: BlockShape


class _BlockDeltaShape(BaseModel):
    index: int
    delta: BlockShape


class _BlockStopShape(BaseModel):
    index: int


class _EndingShape(BaseModel):
    stop_reason: str | None = None
    stop_sequence: str | None = None


class _MessageDeltaShape(BaseModel):
    delta: _EndingShape
    usage: Usage | None = None


class _QueueShape(BaseModel):
    position: int


class _PingShape(BaseModel):
    queue: _QueueShape | None = None
    prefill: Prefill | None = None


def parse_event(name: str, data: str, request_id: str | None = None) -> Sequence[StreamEvent]:
    """No event for a name that is not known, two for a block that opens with text.

    Raises ProtocolError for data that does not fit its name, and the error that an `error` event tells of.
    """
    if name not in _PARSERS and name not in (UNNAMED, "error"):
        return ()
    payload = _payload(name, data)
    kind = payload.get("type", name)
    if kind == "error" or name == "error" or (kind == UNNAMED and "error" in payload):
        raise _told_error(payload, request_id)
    parse = _PARSERS.get(str(kind))
    return parse(payload) if parse else ()


def _payload(name: str, data: str) -> Payload:
    try:
        payload = parse_json(data)
    except ProtocolError:
        if name == "ping":
            return {}
        # A server that fails in the middle of an event writes its error behind the torn half of it.
        payload = parse_json(data.rpartition("\n")[2])
        if not (isinstance(payload, dict) and payload.get("type") == "error"):
            raise
    if not isinstance(payload, dict):
        raise ProtocolError("an event's data is not a JSON object")
    return payload


def _told_error(payload: Payload, request_id: str | None) -> Exception:
    shape = fit(ErrorShape, payload)
    error_type = shape.error.type or "api_error"
    message = shape.error.message or "The backend gave no reason."
    return class_for_type(error_type)(200, error_type, message, request_id or shape.request_id)


def _message_start(payload: Payload) -> Sequence[StreamEvent]:
    message = fit(_MessageStartShape, payload).message.value()
    return (MessageStart(replace(message, usage=replace(message.usage, output_tokens=None))),)


def _block_start(payload: Payload) -> Sequence[StreamEvent]:
    shape = fit(_BlockStartShape, payload)
    return (BlockStart(shape.index), *_text(shape.index, shape.content_block))


def _block_delta(payload: Payload) -> Sequence[StreamEvent]:
    shape = fit(_BlockDeltaShape, payload)
    return _text(shape.index, shape.delta)


def _text(index: int, block: BlockShape) -> Sequence[StreamEvent]:
    text = block.shown_text()
    return (TextDelta(index, text),) if text else ()


def _block_stop(payload: Payload) -> Sequence[StreamEvent]:
    return (BlockStop(fit(_BlockStopShape, payload).index),)


def _message_delta(payload: Payload) -> Sequence[StreamEvent]:
    shape = fit(_MessageDeltaShape, payload)
    return (MessageDelta(shape.delta.stop_reason, shape.delta.stop_sequence, shape.usage or Usage()),)


def _message_stop(payload: Payload) -> Sequence[StreamEvent]:
    return (MessageStop(),)


def _ping(payload: Payload) -> Sequence[StreamEvent]:
    """A ping is a sign of life first: progress in a form that we do not know is left out."""
    try:
        shape = fit(_PingShape, payload)
    except ProtocolError:
        return (Ping(),)
    return (Ping(shape.queue.position if shape.queue else None, shape.prefill),)


_PARSERS: Mapping[str, Callable[[Payload], Sequence[StreamEvent]]] = {
    "message_start": _message_start,
    "content_block_start": _block_start,
    "content_block_delta": _block_delta,
    "content_block_stop": _block_stop,
    "message_delta": _message_delta,
    "message_stop": _message_stop,
    "ping": _ping,
}
