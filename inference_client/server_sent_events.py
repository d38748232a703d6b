"""Cuts a response body into server-sent events, however the network cut the bytes. Knows nothing of messages.

httpx-sse does the parsing. In front of it stands a check of the bytes: an event has a size limit, because
lines are buffered until they end; the text is UTF-8 whatever the headers say; a last event gets its missing
blank line.
"""

import codecs
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import httpx
from httpx_sse import EventSource

from inference_client.errors import ProtocolError

_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))[\r\n]")
_LONGEST_BLANK_LINE = 4
# The codec drops a byte order mark, also one that is spread over several chunks.
_HEADERS = {"content-type": "text/event-stream; charset=utf-8-sig"}


@dataclass(frozen=True)
class ServerSentEvent:
    """`name` is "message" when none is given; `complete` is False when the body ended inside the event."""

    name: str
    data: str
    complete: bool


async def server_sent_events(
    chunks: AsyncIterator[bytes], max_event_bytes: int
) -> AsyncGenerator[ServerSentEvent, None]:
    """Events that carry data. Raises ProtocolError for one over the limit and for text that is not UTF-8."""
    checked = _CheckedBytes(chunks, max_event_bytes)
    source = EventSource(httpx.Response(200, headers=_HEADERS, stream=checked))
    async with aclosing(source.aiter_sse()) as events:
        async for event in events:
            if event.data:
                yield ServerSentEvent(event.event, event.data, complete=not checked.ended)


class _CheckedBytes(httpx.AsyncByteStream):
    def __init__(self, chunks: AsyncIterator[bytes], max_event_bytes: int) -> None:
        self._chunks = chunks
        self._limit = max_event_bytes
        self._size = 0  # Bytes since the last blank line.
        self._tail = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            self._measure(chunk)
            self._check_text(chunk)
            yield chunk
        self.ended = True
        yield b"\n\n"

    def _measure(self, chunk: bytes) -> None:
        window = self._tail + chunk
        start = len(self._tail) - self._size  # Of the event in progress; negative when it began before the window.
        for blank_line in _BLANK_LINE.finditer(window):
            self._check_size(blank_line.end() - start)
            start = max(start, blank_line.end())
        self._size = len(window) - start
        self._check_size(self._size)
        self._tail = window[1 - _LONGEST_BLANK_LINE :]

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise ProtocolError(f"an event is larger than {self._limit} bytes")

    def _check_text(self, chunk: bytes) -> None:
        try:
            self._decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise ProtocolError("the stream is not UTF-8") from error
