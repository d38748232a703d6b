"""A streamed answer as bytes, with everything that the SSE standard allows, and the events it stands for."""

from inference_client import (
    BlockStart,
    BlockStop,
    Message,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    Prefill,
    StreamEvent,
    TextDelta,
    Usage,
)

# Text with characters of 2, 3 and 4 bytes, and with those that only wrong decoders take for line ends.
TEXTS = ("서울의 é 👩‍👩‍👧", "\u2028a\u0085b\x0bc\u2029", "\r\nevent: done\r\ndata: {}\r\n\r\n", " ")

RECORDING = """\
: a comment before everything

event: ping
data: {"type": "ping", "queue": {"position": 2}}

event:message_start
data:{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],
data:"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":8,"cache_read_input_tokens":19,
data: "output_tokens":1,"service_tier":"standard"},"container":null}}
id: 7

: a comment
event: ping
data: {"type": "ping", "prefill": {"total": 27, "cached": 19, "processed": 4}}
retry: 3000

event: content_block_start
data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

event: news_of_tomorrow
data: not even JSON

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "서울의 é 👩‍👩‍👧"}}

event: content_block_delta
: a comment inside
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "\u2028a\u0085b\\u000bc\u2029"}}

data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "\\r\\nevent: done\\r\\ndata: {}\\r\\n\\r\\n"}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " "}}

event: content_block_stop
data: {"type": "content_block_stop", "index": 0}

event: message_delta
data: {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 4}}

event: message_stop
data: {"type": "message_stop"}
"""  # noqa: E501 - Lines are as they come on the wire. The blank line at the end is missing.

EVENTS: tuple[StreamEvent, ...] = (
    Ping(queue_position=2),
    MessageStart(Message("msg_1", "m", "", None, None, Usage(8, None, 19, None))),
    Ping(prefill=Prefill(total=27, cached=19, processed=4)),
    BlockStart(0),
    *(TextDelta(0, text) for text in TEXTS),
    BlockStop(0),
    MessageDelta("end_turn", None, Usage(output_tokens=4)),
    MessageStop(),
)


def recording(line_end: str = "\n", *, bom: bool = False) -> bytes:
    return (("\ufeff" if bom else "") + RECORDING.replace("\n", line_end)).encode()
