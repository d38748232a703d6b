"""The Messages API as four operations, those of the bundled server, and a look at whether the backend is there.

Adds nothing to a body: `encode_body` of it is what goes out.
"""

import math
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Literal, Self
from urllib.parse import quote

import anyio
import httpx

from inference_client.connection import Connection, body_chunks, read_body
from inference_client.encoding import encode_body
from inference_client.errors import NotFound, ProtocolError
from inference_client.inspection import (
    AttentionRow,
    CacheState,
    Comparison,
    MessageTokens,
    parse_attention,
    parse_cache,
    parse_comparison,
    parse_tokens,
)
from inference_client.messages import Message, Model
from inference_client.retry import RetryPolicy
from inference_client.server_sent_events import ServerSentEvent, server_sent_events
from inference_client.stream import MessageStream
from inference_client.timeouts import Timeouts
from inference_client.wire import parse_message, parse_models, parse_running, parse_serving_id, parse_token_count

_EVENT_STREAM = "text/event-stream"
_JSON = "application/json"


class InferenceClient:
    """One backend. Used as an async context manager, or closed with `aclose`.

    Every operation raises InferenceError. `max_event_bytes` limits one event of a stream, and a whole answer
    that is not streamed.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        max_event_bytes: int = 2 * 1024 * 1024,
    ) -> None:
        self._timeouts = timeouts or Timeouts()
        self._max_event_bytes = max_event_bytes
        self._connection = Connection(base_url, api_key, self._timeouts, retry or RetryPolicy(), transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def create(self, body: Mapping[str, object]) -> Message:
        """Raises ValueError for a body that asks for a stream."""
        if body.get("stream") is True:
            raise ValueError("create() needs a body without stream: true")
        # The headers come when the whole answer is there, so the limit of a short answer does not fit.
        timeouts = replace(self._timeouts, first_event=math.inf)
        return parse_message(await self._fetch("POST", "/v1/messages", encode_body(body), timeouts))

    @asynccontextmanager
    async def stream(
        self, body: Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[MessageStream]:
        """Leaving the context, also by cancellation, closes the connection unless the answer had ended.

        `headers` are sent beside our own.
        Raises ValueError for a body that does not ask for a stream.
        """
        if body.get("stream") is not True:
            raise ValueError("stream() needs a body with stream: true")
        response, patience = await self._connection.open(
            "POST", "/v1/messages", _EVENT_STREAM, encode_body(body), self._timeouts, headers
        )
        try:
            _expect_event_stream(response)
            events = server_sent_events(body_chunks(response), self._max_event_bytes)
            stream = MessageStream(events, patience, response.headers.get("request-id"))
            async with aclosing(stream):
                yield stream
        finally:
            await response.aclose()

    @asynccontextmanager
    async def wire_events(
        self, body: Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[AsyncGenerator[ServerSentEvent, None]]:
        """The events of a streamed answer as they came, for who must tell an absent field from null.

        `headers` are sent beside our own. Only the first byte is waited for by our time limits. `parse_event` makes
        values of an event.
        """
        response, _ = await self._connection.open(
            "POST", "/v1/messages", _EVENT_STREAM, encode_body(body), self._timeouts, headers
        )
        try:
            _expect_event_stream(response)
            async with aclosing(server_sent_events(body_chunks(response), self._max_event_bytes)) as events:
                yield events
        finally:
            await response.aclose()

    async def count_tokens(self, body: Mapping[str, object]) -> int:
        content = encode_body(body)
        return parse_token_count(await self._fetch("POST", "/v1/messages/count_tokens", content, self._short_timeouts))

    async def forget(self, message_ids: Sequence[str]) -> list[str]:
        """Drops what the bundled server remembers of messages; returns those that still run, which it keeps.

        Other servers have no such operation, which is NotFound.
        """
        content = encode_body({"ids": list(message_ids)})
        return parse_running(await self._fetch("POST", "/v1/messages/forget", content, self._short_timeouts))

    async def tokens(self, message_id: str) -> MessageTokens:
        """NotFound where the server does not know the message, or not any more; a refusal without its key."""
        return parse_tokens(await self._fetch("GET", f"{_message_path(message_id)}/tokens", None, self._short_timeouts))

    async def attention(
        self, message_id: str, *, position: int, layer: int, head: int | Literal["mean"], top: int
    ) -> AttentionRow:
        """NotFound as `tokens`; InvalidRequest for what there is not; Gone once the KV has been evicted."""
        content = encode_body({"position": position, "layer": layer, "head": head, "top": top})
        path = f"{_message_path(message_id)}/attention"
        return parse_attention(await self._fetch("POST", path, content, self._short_timeouts))

    async def compare(self, a: Mapping[str, object], b: Mapping[str, object]) -> Comparison:
        """How many tokens two bodies share from the first on. Neither is run."""
        content = encode_body({"a": dict(a), "b": dict(b)})
        return parse_comparison(await self._fetch("POST", "/v1/messages/compare", content, self._short_timeouts))

    async def cache(self) -> CacheState:
        return parse_cache(await self._fetch("GET", "/v1/cache", None, self._short_timeouts))

    async def check(self) -> str | None:
        """Raises InferenceError unless the backend says that it is well: at `/health`, else by listing its models.

        Returns the serving id of a server that names itself, which is new at each of its starts.
        """
        try:
            return parse_serving_id(await self._fetch("GET", "/health", None, self._short_timeouts))
        except NotFound:
            await self.models()
            return None

    async def models(self) -> list[Model]:
        return parse_models(await self._fetch("GET", "/v1/models?limit=1000", None, self._short_timeouts))

    @property
    def _short_timeouts(self) -> Timeouts:
        return replace(self._timeouts, first_token=math.inf)

    async def _fetch(self, method: str, path: str, content: bytes | None, timeouts: Timeouts) -> bytes:
        response, patience = await self._connection.open(method, path, _JSON, content, timeouts)
        patience.event_came()
        seconds, too_late = patience.wait()
        try:
            with anyio.fail_after(seconds):
                return await read_body(response, self._max_event_bytes)
        except TimeoutError:
            raise too_late from None
        finally:
            await response.aclose()


def _message_path(message_id: str) -> str:
    return f"/v1/messages/{quote(message_id, safe='')}"


def _expect_event_stream(response: httpx.Response) -> None:
    content_type = response.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != _EVENT_STREAM:
        raise ProtocolError(f"the backend answered with {content_type or 'no content type'}, not with a stream")
