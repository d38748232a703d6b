"""The bridge between the asyncio server and the engine, which run in two threads.

Requests and aborts go over by one queue; what a step brought comes back by one hand-over for each of its halves, not
one per token.
"""

import asyncio
import queue
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from inference_server.engine import Engine, EngineEvent, Finished, Prefilled, Queued, TextGenerated
from inference_server.errors import EngineDead
from inference_server.sequence import Sequence
from inference_server.stats import Stats

Result = TypeVar("Result")

log = structlog.get_logger(__name__)

CHECK_EVERY_S = 3600.0
"""How often a serving engine checks that every slot has one owner; a broken one ends, and is started anew."""


@dataclass(frozen=True, slots=True)
class _Submit:
    sequence: Sequence
    mailbox: "Mailbox"


@dataclass(frozen=True, slots=True)
class _Abort:
    request_id: str


@dataclass(frozen=True, slots=True)
class _Visit:
    """Something to be done with the engine between two of its steps."""

    action: Callable[[Engine], Any]
    result: "asyncio.Future[Any]"


class Mailbox:
    """What a request's reader has not taken yet. Neighbouring texts are joined, so a slow reader holds one string."""

    def __init__(self) -> None:
        self._events: list[EngineEvent] = []
        self._ready = asyncio.Event()
        self._dead = False

    def put(self, event: EngineEvent) -> None:
        """Add an event (event loop only)."""
        last = self._events[-1] if self._events else None
        if isinstance(event, TextGenerated) and isinstance(last, TextGenerated):
            self._events[-1] = TextGenerated(event.id, last.text + event.text)
        elif isinstance(event, Queued | Prefilled) and type(last) is type(event):
            self._events[-1] = event  # Progress: only the newest counts.
        else:
            self._events.append(event)
        self._ready.set()

    def close(self) -> None:
        """Let the reader know that the engine has died."""
        self._dead = True
        self._ready.set()

    async def take(self) -> list[EngineEvent]:
        """Wait for events and take all. Raises EngineDead when no more will come."""
        await self._ready.wait()
        if not self._dead:  # Behind the last events nobody would set it again.
            self._ready.clear()
        events, self._events = self._events, []
        if not events and self._dead:
            raise EngineDead("the engine has stopped")
        return events


class AsyncEngine:
    """Lets an event loop use an :class:`Engine` that another thread runs.

    The loop calls :meth:`attach` and then anything but :meth:`run`, which is all that the engine's thread calls.
    """

    def __init__(self, engine: Engine, stats: Stats, *, on_death: Callable[[], None]) -> None:
        self._engine = engine
        self._stats = stats
        self._on_death = on_death
        self._commands: queue.SimpleQueue[_Submit | _Abort | _Visit | None] = queue.SimpleQueue()
        self._mailboxes: dict[str, Mailbox] = {}
        self._visits: set[asyncio.Future[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._dead = False
        self._next_check = time.perf_counter() + CHECK_EVERY_S

    @property
    def is_alive(self) -> bool:
        """Whether requests can be answered."""
        return not self._dead

    @property
    def num_requests(self) -> int:
        """Requests that are waiting or running."""
        return len(self._mailboxes)

    def attach(self) -> None:
        """Take events to the event loop that runs now."""
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """Let :meth:`run` end after its present step. Any thread may call this."""
        self._commands.put(None)

    async def generate(self, sequence: Sequence) -> AsyncGenerator[EngineEvent, None]:
        """Run a request and yield its events up to :class:`Finished`. Leaving the iteration early aborts it."""
        if not self.is_alive:
            raise EngineDead("the engine has stopped")
        mailbox = self._mailboxes[sequence.id] = Mailbox()
        self._commands.put(_Submit(sequence, mailbox))
        finished = False
        try:
            while not finished:
                for event in await mailbox.take():
                    finished = isinstance(event, Finished)
                    yield event
        finally:
            self._mailboxes.pop(sequence.id, None)
            if not finished:
                self._commands.put(_Abort(sequence.id))

    async def visit(self, action: Callable[[Engine], Result]) -> Result:
        """Do something with the engine in its own thread, between two steps; whatever it raises is raised here."""
        if not self.is_alive:
            raise EngineDead("the engine has stopped")
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._visits.add(result)
        self._commands.put(_Visit(action, result))
        try:
            return await result
        finally:
            self._visits.discard(result)

    def run(self) -> None:
        """Run the engine until :meth:`stop`, or until it dies, which :attr:`is_alive` tells."""
        try:
            while self._take_commands():
                started = time.perf_counter()
                if started >= self._next_check:
                    self._engine.scheduler.check()
                    self._next_check = started + CHECK_EVERY_S
                begun = self._engine.prepare()
                self._stats.record_events(begun)
                self._call(self._deliver, begun)
                events = self._engine.compute()
                self._stats.record_events(events)
                self._stats.record_step(time.perf_counter() - started, self._engine)
                self._call(self._deliver, events)
        except BaseException:  # Whatever it was: a server that looks alive would let its callers hang.
            log.exception("engine_died")
            self._dead = True
            self._call(self._bury)

    def _take_commands(self) -> bool:
        """Apply all commands that have come; wait for one when there is nothing else to do. False: stop."""
        wait = not self._engine.has_work
        while True:
            try:
                command = self._commands.get(block=wait)
            except queue.Empty:
                return True
            wait = False
            if command is None:
                return False
            if isinstance(command, _Submit):
                self._engine.add(command.sequence)
            elif isinstance(command, _Visit):
                self._receive(command)
            else:
                self._engine.abort(command.request_id)

    def _receive(self, visit: _Visit) -> None:
        try:
            result = visit.action(self._engine)
        except Exception as error:
            self._call(_settle, visit.result.set_exception, error)
        else:
            self._call(_settle, visit.result.set_result, result)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _deliver(self, events: list[EngineEvent]) -> None:
        for event in events:
            mailbox = self._mailboxes.get(event.id)
            if mailbox is not None:
                mailbox.put(event)

    def _bury(self) -> None:
        for mailbox in self._mailboxes.values():
            mailbox.close()
        for result in self._visits:
            _settle(result.set_exception, EngineDead("the engine has stopped"))
        self._on_death()


def _settle(settle: Callable[[Any], None], value: object) -> None:
    """The visitor may have gone, and its future with it."""
    with suppress(asyncio.InvalidStateError):
        settle(value)
