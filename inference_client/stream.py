"""A streamed answer: an iterator of events that keeps what has come. Knows nothing of HTTP or SSE framing."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Self

import anyio

from inference_client.errors import InferenceError, ProtocolError
from inference_client.event_parser import parse_event
from inference_client.events import MessageDelta, MessageStop, StreamEvent, TextDelta
from inference_client.messages import Message
from inference_client.server_sent_events import ServerSentEvent
from inference_client.snapshot import Snapshot
from inference_client.timeouts import Patience

# A connection whose body ends right behind `message_stop` can serve the next request.
_END_OF_BODY_SECONDS = 0.1


class MessageStream:
    """Iterates once over the events; what came before an error stays in `snapshot`.

    Raises TransportError, ProtocolError, or the StatusError of an `error` event. When the body ends without
    `message_stop` the iteration just ends; `snapshot.stop_reason` is None unless a `message_delta` had come.
    """

    def __init__(
        self, events: AsyncGenerator[ServerSentEvent, None], patience: Patience, request_id: str | None
    ) -> None:
        self.request_id = request_id
        self._wire_events = events
        self._patience = patience
        self._snapshot = Snapshot()
        self._events = self._read()

    @property
    def snapshot(self) -> Message:
        """All that has come so far; id and model are empty before `message_start`."""
        return self._snapshot.message

    async def final_message(self) -> Message:
        """Reads to the end and returns the last snapshot."""
        async for _ in self:
            pass
        return self.snapshot

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        return await anext(self._events)

    async def aclose(self) -> None:
        await self._events.aclose()
        await self._wire_events.aclose()

    async def _read(self) -> AsyncGenerator[StreamEvent, None]:
        while (wire_event := await self._next_wire_event()) is not None:
            for event in self._parse(wire_event):
                self._snapshot.add(event)
                if isinstance(event, TextDelta | MessageDelta):
                    self._patience.token_came()
                yield event
                if isinstance(event, MessageStop):
                    await self._end_of_body()
                    return

    async def _next_wire_event(self) -> ServerSentEvent | None:
        seconds, too_late = self._patience.wait()
        try:
            with anyio.fail_after(seconds):
                wire_event = await anext(self._wire_events, None)
        except TimeoutError:
            raise too_late from None
        self._patience.event_came()
        return wire_event

    def _parse(self, wire_event: ServerSentEvent) -> Sequence[StreamEvent]:
        try:
            return parse_event(wire_event.name, wire_event.data, self.request_id)
        except ProtocolError:
            if wire_event.complete:
                raise
            return ()  # The body ended inside this event: the answer is interrupted, not wrong.

    async def _end_of_body(self) -> None:
        with suppress(InferenceError), anyio.move_on_after(_END_OF_BODY_SECONDS):
            await anext(self._wire_events, None)
