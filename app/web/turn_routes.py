"""Following a turn as a stream of server-sent events, and stopping it. Leaving the stream stops nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import UUID

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.turns.events import TurnEvent
from app.web.forms import id_field
from app.web.instruments import instruments_of
from app.web.transcript import transcript_of
from app.web.visit import account_of, house_of, visit_of, wants_fragment
from app.web.watched_stream import while_allowed

SEND_TIMEOUT_SECONDS = 30  # A peer that takes nothing for this long has gone.
RECONNECT_MILLISECONDS = 1000
# What a stream gets to end between two events when the server stops; a whole response does not look like a broken one.
CLOSING_SECONDS = 2
# An event log that has nothing more ends at once; longer than this a live turn may well be silent.
FIRST_EVENT_SECONDS = 0.1


async def turn_events(request: Request) -> Response:
    """The events behind the reader's cursor: one line of JSON each, numbered. 204 once there are no more."""
    owner = account_of(request).id
    followed = await house_of(request).turns.events(owner, _turn_id(request), _cursor(request))
    closing = anyio.Event()
    events = _watched(request, followed, closing)
    if request.method == "HEAD":
        return _stream(request, _server_sent(request, None, events), closing)
    first = asyncio.ensure_future(_next(events))
    await asyncio.wait({first}, timeout=FIRST_EVENT_SECONDS)
    if first.done() and first.result() is None:
        return Response(status_code=204)
    return _stream(request, _server_sent(request, first, events), closing)


async def stop_turn(request: Request) -> Response:
    await house_of(request).turns.stop(account_of(request).id, _turn_id(request))
    if wants_fragment(request):
        return Response(status_code=204)
    return RedirectResponse(_back_to_conversation(request), 303)


def _watched(request: Request, events: AsyncIterator[TurnEvent], closing: anyio.Event) -> AsyncIterator[TurnEvent]:
    """Ends within a ping of the reader's session."""
    house, token = house_of(request), visit_of(request).token

    async def signed_in() -> bool:
        return await house.sessions.resolve(token) is not None

    return while_allowed(events, signed_in, house.rhythm.ping, closing)


def _back_to_conversation(request: Request) -> str:
    conversation_id = id_field(request, "conversation_id")
    return f"/conversations/{conversation_id}" if conversation_id else "/"


def _turn_id(request: Request) -> UUID:
    turn_id: UUID = request.path_params["turn_id"]
    return turn_id


def _cursor(request: Request) -> int:
    """Number of the last event that the reader has. A reconnecting browser's header is newer than its URL."""
    for given in (request.headers.get("last-event-id"), request.query_params.get("after")):
        if given and given.isascii() and given.isdigit() and len(given) < 18:
            return int(given)
    return 0


def _stream(request: Request, events: AsyncIterator[ServerSentEvent], closing: anyio.Event) -> EventSourceResponse:
    return EventSourceResponse(
        events,
        headers={"cache-control": "no-store, no-transform"},
        ping=house_of(request).rhythm.ping,
        send_timeout=SEND_TIMEOUT_SECONDS,
        shutdown_event=closing,
        shutdown_grace_period=CLOSING_SECONDS,
    )


async def _server_sent(
    request: Request, first: asyncio.Future[TurnEvent | None] | None, rest: AsyncIterator[TurnEvent]
) -> AsyncIterator[ServerSentEvent]:
    instruments = instruments_of(request)
    instruments.streams.inc()
    try:
        event = await first if first is not None else None
        while event is not None:
            instruments.events.inc()
            yield ServerSentEvent(
                data=json.dumps(await _data(request, event)),
                event=event.kind,
                id=str(event.seq),
                retry=RECONNECT_MILLISECONDS,
            )
            event = await _next(rest)
    finally:
        instruments.streams.dec()
        if first is not None:
            first.cancel()


async def _data(request: Request, event: TurnEvent) -> dict[str, object]:
    """A reset also says how its text looks, by the same rule as the page."""
    data: dict[str, object] = dict(event.data)
    if event.kind == "reset":
        data |= await transcript_of(request).snapshot(str(event.data["text"]))
    return data


async def _next(events: AsyncIterator[TurnEvent]) -> TurnEvent | None:
    return await anext(events, None)
