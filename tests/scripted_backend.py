"""A Messages API server that says exactly what a test tells it to, and remembers what it was asked.

    backend = ScriptedBackend()
    with LiveServer(backend) as server:                # tests/live_server.py; server.url is the base URL
        ...                                            # unscripted questions get a plausible answer

        gate = Gate()
        backend.script(                                # plays once, for the next POST /v1/messages
            message_start(usage={"input_tokens": 8, "cache_read_input_tokens": 19}),
            delta("Hel"), gate, delta("lo"),
            *ending(output_tokens=3),                  # block stop, message_delta, message_stop
        )
        gate.wait_arrived()                            # all before it is written (async: gate.arrived())
        gate.open()

    backend.script(*answer("Hel", "lo", usage={...}, output_tokens=3))   # a whole answer in one line
    backend.script(error_reply(529, "overloaded_error", headers={"retry-after": "1"}))
    backend.script(message_start(), delta("Part"), error_event("overloaded_error"))
    backend.script(message_start(), delta("Part"), CUT)         # the TCP connection is torn down
    backend.script(message_start(), delta("Part"))              # a clean end without message_stop
    backend.script(ping(), ping(queue=2), ping(prefill=(900, 700, 50)), *answer("late"))
    backend.script(Gate(), *answer("x"))                        # not even headers until the gate opens
    backend.script(head(), Gate(), *answer("x"))                # headers at once, nothing more
    backend.script(b": any bytes\n\n", *answer("x"))
    backend.script(error_reply(500, "api_error"), path=MODELS)  # other paths can be scripted too

    backend.questions[-1].json()["messages"]           # what POST /v1/messages got; .body is the raw bytes
    backend.wait_for(lambda: backend.disconnects == 1) # async: await backend.until(...)

Usage values are sent as given: a missing key is absent on the wire, None is null, 0 is 0. Unscripted
answers come from a tiny prefix cache whose tokens are words, so the numbers of a conversation add up as a
real server's do. A request without `"stream": true` gets the same script folded into one JSON message.
"""

import asyncio
import itertools
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"
FORGET = "/v1/messages/forget"
COMPARE = "/v1/messages/compare"
MODELS = "/v1/models"
HEALTH = "/health"

Usage = Mapping[str, int | None]


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    data: Mapping[str, Any]

    def encode(self) -> bytes:
        return f"event: {self.data['type']}\ndata: {json.dumps(self.data, ensure_ascii=False)}\n\n".encode()


@dataclass(frozen=True)
class Head:
    """The status line and headers, sent before anything else of the script is there."""

    headers: Mapping[str, str]


@dataclass(frozen=True)
class Reply:
    """A whole response that is no stream; the only step of its script."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Cut:
    """Tears the TCP connection down."""


CUT = Cut()


class Gate:
    """Holds a script back until the test opens it, and tells the test that the script has come this far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrived = threading.Event()
        self._open = False
        self._held: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def open(self) -> None:
        with self._lock:
            self._open = True
            for loop, event in self._held:
                loop.call_soon_threadsafe(event.set)

    def wait_arrived(self, timeout: float = 10.0) -> None:
        if not self._arrived.wait(timeout):
            raise TimeoutError("the script has not come to this gate")

    async def arrived(self, timeout: float = 10.0) -> None:
        await anyio.to_thread.run_sync(self.wait_arrived, timeout)

    async def pass_through(self) -> None:
        """Called by the server."""
        entry = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            if self._open:
                entry[1].set()
            self._held.append(entry)
        self._arrived.set()
        try:
            await entry[1].wait()
        finally:
            with self._lock:
                self._held.remove(entry)


Step = Event | bytes | Gate | Head | Reply | Cut


def head(content_type: str = "text/event-stream", **headers: str) -> Head:
    return Head({"content-type": content_type, **{name.replace("_", "-"): v for name, v in headers.items()}})


def message_start(
    *,
    usage: Usage | None = None,
    message_id: str = "msg_scripted",
    model: str = "scripted",
    serving_id: str | None = None,
) -> Event:
    """A server that names itself has a `serving_id`; why it missed only a real one says."""
    message: dict[str, Any] = {
        "id": message_id, "type": "message", "role": "assistant", "content": [], "model": model,
        "stop_reason": None, "stop_sequence": None,
    }  # fmt: skip
    if usage is not None:
        message["usage"] = dict(usage)
    if serving_id is not None:
        message["prefix_cache"] = {"serving_id": serving_id}
    return Event({"type": "message_start", "message": message})


def block_start(index: int = 0) -> Event:
    block = {"type": "text", "text": ""}
    return Event({"type": "content_block_start", "index": index, "content_block": block})


def delta(text: str, index: int = 0) -> Event:
    """A text delta. Scripts may leave `block_start` out before index 0: it is put in by the server."""
    text_delta = {"type": "text_delta", "text": text}
    return Event({"type": "content_block_delta", "index": index, "delta": text_delta})


def block_stop(index: int = 0) -> Event:
    return Event({"type": "content_block_stop", "index": index})


def message_delta(
    stop_reason: str | None = "end_turn", *, usage: Usage | None = None, stop_sequence: str | None = None
) -> Event:
    data: dict[str, Any] = {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": stop_sequence},
    }
    if usage is not None:
        data["usage"] = dict(usage)
    return Event(data)


def message_stop() -> Event:
    return Event({"type": "message_stop"})


def ping(*, queue: int | None = None, prefill: tuple[int, int, int] | None = None) -> Event:
    """`queue` is the place in the queue; `prefill` is (total, cached, processed) tokens."""
    data: dict[str, Any] = {"type": "ping"}
    if queue is not None:
        data["queue"] = {"position": queue}
    if prefill is not None:
        data["prefill"] = dict(zip(("total", "cached", "processed"), prefill, strict=True))
    return Event(data)


def error_event(error_type: str = "api_error", message: str = "Something broke.") -> Event:
    return Event({"type": "error", "error": {"type": error_type, "message": message}})


def _error(error_type: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": error_type, "message": message}, "request_id": "req_scripted"}


def _not_found() -> Response:
    return JSONResponse(_error("not_found_error", "no such message"), 404)


def error_reply(
    status: int, error_type: str, message: str = "Scripted error.", headers: Mapping[str, str] | None = None
) -> Reply:
    return Reply(
        status,
        json.dumps(_error(error_type, message)).encode(),
        {"content-type": "application/json", **(headers or {})},
    )


def ending(stop_reason: str = "end_turn", *, output_tokens: int, usage: Usage | None = None) -> list[Step]:
    usage = {**(usage or {}), "output_tokens": output_tokens}
    return [block_stop(), message_delta(stop_reason, usage=usage), message_stop()]


def answer(
    *texts: str, usage: Usage | None = None, output_tokens: int | None = None, stop_reason: str = "end_turn"
) -> list[Step]:
    """A whole answer: one delta per text. `usage` goes into message_start; by default 10 input tokens."""
    started = {"input_tokens": 10, "output_tokens": 1} if usage is None else usage
    count = len(texts) + 1 if output_tokens is None else output_tokens
    return [message_start(usage=started), *map(delta, texts), *ending(stop_reason, output_tokens=count)]


@dataclass(frozen=True)
class RecordedRequest:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    client_port: int

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class ShownMessage:
    """What inspection shows of one message: its (segment, state, id, piece) in order, by a model of 4 layers, 2 heads.

    Each position looks at itself and at all before it; the deeper the layer, the more at the first one.
    """

    pieces: Sequence[tuple[str, str, int, str]]

    def tokens(self) -> dict[str, Any]:
        states = [state for _, state, _, _ in self.pieces]
        return {
            "input_tokens": len(states) - states.count("generated"),
            "cache_read_input_tokens": states.count("cached"),
            "output_tokens": states.count("generated"),
            "kv_tokens": len(states) - 1,
            "finished": True,
            "tokens": [self._token(position) for position in range(len(states))],
        }

    def attention(self, position: int, layer: int, head: int | str, top: int) -> dict[str, Any] | None:
        if layer >= 4 or (head != "mean" and int(head) >= 2):
            return None
        weights = [1.0 / (position + 1)] * (position + 1)
        share = layer / 8
        weights = [(1 - share) * weight + (share if place == 0 else 0) for place, weight in enumerate(weights)]
        first = sorted(range(len(weights)), key=lambda place: -weights[place])[:top]
        cached = sum(weight for weight, piece in zip(weights, self.pieces, strict=False) if piece[1] == "cached")
        rest = {"positions": len(weights) - len(first), "weight": sum(weights) - sum(weights[at] for at in first)}
        return {
            "position": position, "layer": layer, "layers": 4, "head": head, "heads": 2, "cached_weight": cached,
            "top": [{**self._token(at), "weight": weights[at]} for at in first], "remainder": rest,
        }  # fmt: skip

    def _token(self, position: int) -> dict[str, Any]:
        segment, state, number, piece = self.pieces[position]
        return {"position": position, "id": number, "text": piece, "segment": segment, "state": state}


class ScriptedBackend:
    """The ASGI app. Lists and counts may be read from any thread; scripts may be added at any time."""

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self.disconnects = 0  # Clients that left before their stream had ended.
        self.open_streams = 0
        self.default: Callable[[RecordedRequest], Sequence[Step]] = self._plausible_answer
        self.models: list[dict[str, Any]] = [
            {"type": "model", "id": "scripted", "display_name": "Scripted", "max_input_tokens": 8192}
        ]
        self.serving_id: str | None = None  # What `/health` calls this start of the server.
        self.shown: dict[str, ShownMessage] = {}  # What inspection shows, by message id; others are not found.
        self._scripts: dict[str, deque[Sequence[Step]]] = {}
        self._changed = threading.Condition()
        self._cache = WordCache()
        self._numbers = itertools.count(1)
        self._app = Starlette(
            routes=[
                Route(MESSAGES, self._messages, methods=["POST"]),
                Route(COUNT_TOKENS, self._count_tokens, methods=["POST"]),
                Route(FORGET, self._forget, methods=["POST"]),
                Route(MESSAGES + "/{message_id}/tokens", self._tokens),
                Route(MESSAGES + "/{message_id}/attention", self._attention, methods=["POST"]),
                Route(COMPARE, self._compare, methods=["POST"]),
                Route(MODELS, self._models),
                Route(HEALTH, self._health),
            ]
        )

    def script(self, *steps: Step, path: str = MESSAGES) -> None:
        """Queues the steps for one request to `path`, behind those queued before."""
        self._scripts.setdefault(path, deque()).append(steps)

    @property
    def questions(self) -> list[RecordedRequest]:
        """The requests to /v1/messages, oldest first."""
        return [request for request in self.requests if request.path == MESSAGES]

    def wait_for(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Blocks until the condition holds; it is looked at whenever something happens here."""
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                raise TimeoutError("the backend has not seen what the test waits for")

    async def until(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        await anyio.to_thread.run_sync(self.wait_for, condition, timeout)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # CUT needs uvicorn's own `send`, which knows the transport; Starlette hands wrapped ones on.
        scope["server_send"] = send
        await self._app(scope, receive, send)

    async def _messages(self, request: Request) -> Response:
        recorded = await self._record(request)
        steps = self._scripted(recorded) or self.default(recorded)
        return _Playback(steps, stream=recorded.json().get("stream") is True, backend=self)

    async def _count_tokens(self, request: Request) -> Response:
        recorded = await self._record(request)
        count = len(self._cache.prompt(recorded.json()))
        return self._reply(recorded, {"input_tokens": count})

    async def _forget(self, request: Request) -> Response:
        recorded = await self._record(request)
        return self._reply(recorded, {"forgotten": len(recorded.json()["ids"]), "freed_slots": 0, "running": []})

    async def _tokens(self, request: Request) -> Response:
        recorded, shown = await self._record(request), self.shown.get(request.path_params["message_id"])
        return self._reply(recorded, shown.tokens()) if shown else _not_found()

    async def _attention(self, request: Request) -> Response:
        recorded, shown = await self._record(request), self.shown.get(request.path_params["message_id"])
        if shown is None:
            return _not_found()
        row = shown.attention(**recorded.json())
        return self._reply(recorded, row) if row else JSONResponse(_error("invalid_request_error", "layer: no"), 400)

    async def _compare(self, request: Request) -> Response:
        recorded = await self._record(request)
        a, b = (self._cache.prompt(recorded.json()[side]) for side in ("a", "b"))
        sides = {name: {"input_tokens": len(each), "at_divergence": None} for name, each in (("a", a), ("b", b))}
        return self._reply(recorded, {**sides, "common_tokens": _common(a, b)})

    async def _models(self, request: Request) -> Response:
        return self._reply(await self._record(request), {"data": self.models, "has_more": False})

    async def _health(self, request: Request) -> Response:
        return self._reply(
            await self._record(request),
            {"status": "ok", **({"serving_id": self.serving_id} if self.serving_id else {})},
        )

    def _reply(self, recorded: RecordedRequest, otherwise: object) -> Response:
        steps = self._scripted(recorded)
        return _Playback(steps, stream=True, backend=self) if steps else JSONResponse(otherwise)

    async def _record(self, request: Request) -> RecordedRequest:
        body = await request.body()
        port = request.client.port if request.client else 0
        recorded = RecordedRequest(request.method, request.url.path, dict(request.headers), body, port)
        with self._changed:
            self.requests.append(recorded)
            self._changed.notify_all()
        return recorded

    def _scripted(self, recorded: RecordedRequest) -> Sequence[Step]:
        queue = self._scripts.get(recorded.path)
        return queue.popleft() if queue else ()

    def _plausible_answer(self, recorded: RecordedRequest) -> Sequence[Step]:
        body = recorded.json()
        users = sum(message["role"] == "user" for message in body["messages"])
        text = f"This is answer number {users}."
        usage = self._cache.serve(body, text)
        texts = re.findall(r"\s*\S+", text)
        started = message_start(usage=usage, message_id=f"msg_{next(self._numbers)}", model=body["model"])
        return [started, *map(delta, texts), *ending(output_tokens=len(texts) + 1, usage=usage)]

    def stream_opened(self) -> None:
        with self._changed:
            self.open_streams += 1
            self._changed.notify_all()

    def stream_closed(self, *, by_client: bool) -> None:
        with self._changed:
            self.open_streams -= 1
            self.disconnects += by_client
            self._changed.notify_all()


class _Playback(Response):
    """Plays one script as the response, and notices when the client leaves."""

    def __init__(self, steps: Sequence[Step], *, stream: bool, backend: ScriptedBackend) -> None:
        self._steps = _with_block_starts(steps)
        self._stream = stream
        self._backend = backend
        self._started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._backend.stream_opened()
        ended = False
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch, receive, group.cancel_scope)
                await (self._play(scope, send) if self._stream else self._play_folded(scope, send))
                ended = True
                group.cancel_scope.cancel()
        finally:
            self._backend.stream_closed(by_client=not ended)

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def _play(self, scope: Scope, send: Send) -> None:
        for step in self._steps:
            match step:
                case Gate():
                    await step.pass_through()
                case Cut():
                    scope["server_send"].__self__.transport.close()
                    return
                case Head():
                    await self._start(send, 200, step.headers)
                case Reply():
                    await self._start(send, step.status, step.headers)
                    await send({"type": "http.response.body", "body": step.body, "more_body": True})
                case Event() | bytes():
                    await self._start(send, 200, head(request_id="req_scripted").headers)
                    body = step.encode() if isinstance(step, Event) else step
                    await send({"type": "http.response.body", "body": body, "more_body": True})
        await self._start(send, 200, head().headers)
        await send({"type": "http.response.body", "body": b""})

    async def _start(self, send: Send, status: int, headers: Mapping[str, str]) -> None:
        if not self._started:
            self._started = True
            raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": status, "headers": raw})

    async def _play_folded(self, scope: Scope, send: Send) -> None:
        message: dict[str, Any] = {}
        folded: list[Step] = []
        for step in self._steps:
            if isinstance(step, Event):
                _fold(message, step.data)
            else:
                folded.append(step)
        if not any(isinstance(step, Reply) for step in folded):
            headers = {"content-type": "application/json", "request-id": "req_scripted"}
            folded.append(Reply(200, json.dumps(message, ensure_ascii=False).encode(), headers))
        self._steps = folded
        await self._play(scope, send)


def _with_block_starts(steps: Sequence[Step]) -> list[Step]:
    """Puts the opening of block 0 before the first delta of a script that leaves it out."""
    types = [step.data["type"] if isinstance(step, Event) else "" for step in steps]
    if "content_block_start" in types or "message_start" not in types:
        return list(steps)
    at = next((i for i, name in enumerate(types) if name.startswith("content_block_")), None)
    return list(steps) if at is None else [*steps[:at], block_start(), *steps[at:]]


def _fold(message: dict[str, Any], data: Mapping[str, Any]) -> None:
    """Adds one event to the JSON message of an answer that is not streamed."""
    if data["type"] == "message_start":
        message.update(data["message"])
        message["content"] = [{"type": "text", "text": ""}]
    elif data["type"] == "content_block_delta":
        message["content"][0]["text"] += data["delta"]["text"]
    elif data["type"] == "message_delta":
        message.update(data["delta"])
        if "usage" in data:
            message["usage"] = {**message.get("usage", {}), **data["usage"]}


class WordCache:
    """A prefix cache per model whose tokens are words and role markers. The last token of an answer is never kept."""

    def __init__(self) -> None:
        self._kept: dict[str, list[list[str]]] = {}

    def prompt(self, body: Mapping[str, Any]) -> list[str]:
        """The tokens of `system` and `messages`, and the marker that opens the answer."""
        tokens = ["<system>", *_words(body["system"]), "<end>"] if body.get("system") else []
        for message in body["messages"]:
            tokens += [f"<{message['role']}>", *_words(message["content"]), "<end>"]
        return [*tokens, "<assistant>"]

    def serve(self, body: Mapping[str, Any], text: str) -> Usage:
        """Usage at the start of an answer with this text; its tokens are kept from now on."""
        prompt = self.prompt(body)
        kept = self._kept.setdefault(body["model"], [])
        read = min(max((_common(prompt, tokens) for tokens in kept), default=0), len(prompt) - 1)
        kept.append([*prompt, *_words(text)])
        return {
            "input_tokens": len(prompt) - read,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": read,
            "output_tokens": 1,
        }


def _words(content: str | Sequence[Mapping[str, Any]]) -> list[str]:
    text = content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
    return re.findall(r"\s*\S+|\s+", text)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
