"""One turn in the making: asks the backend, publishes what comes, and stores the end.

It belongs to the server, not to a request: nobody needs to watch. It holds no database session
while the backend writes.
"""

import itertools
import logging
from collections.abc import Container
from dataclasses import dataclass, field
from uuid import UUID

import anyio
from sqlalchemy.exc import SQLAlchemyError

from app import prompt
from app.clock import Clock
from app.database import Database
from app.models import Turn
from app.settings import Backend
from app.text import clean_answer_text
from app.turns import endings, turn_rows
from app.turns.answer import Answer
from app.turns.backends import Backends, ServingBackend
from app.turns.bus import Bus
from app.turns.endings import Ending
from app.turns.live_markdown import RenderingRoom
from app.turns.naming import name_turns
from app.turns.plan import Plan
from app.turns.publisher import Publisher
from app.turns.rhythm import Rhythm
from inference_client import (
    ConnectFailed,
    InferenceError,
    Message,
    MessageDelta,
    MessageStart,
    NotFound,
    Ping,
    StreamEvent,
    TextDelta,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What all jobs of a process share."""

    database: Database
    backends: Backends
    bus: Bus
    clock: Clock
    secret: bytes
    rhythm: Rhythm
    room: RenderingRoom = field(default_factory=RenderingRoom)


class Job:
    def __init__(self, plan: Plan, shop: Workshop) -> None:
        self.plan = plan
        self.saved_changes = 0
        self.ended = anyio.Event()
        self._shop = shop
        self._backend = self._choose()
        self.answer = Answer(plan.accepted_at, prefix=plan.prefix)
        self._scope = anyio.CancelScope()
        self._cut: Ending | None = None
        self._generated = False
        self._giving_up = anyio.Event()
        shop.bus.open(plan.turn_id, plan.prefix)
        self._events = Publisher(shop.bus, plan.turn_id, shop.rhythm, shop.room, plan.prefix)

    @property
    def turn_id(self) -> UUID:
        return self.plan.turn_id

    def cut(self, ending: Ending) -> None:
        """Ends the answer now, whatever the backend is doing; the first cut counts, the text stays."""
        if self._cut is None and not self._generated:
            self._cut = ending
            self._scope.cancel()

    def give_up(self) -> None:
        """The process ends: an answer that cannot be stored now is lost but for its checkpoints."""
        self._giving_up.set()

    async def run(self) -> None:
        try:
            ending = await self._generate()
            self._generated = True
            self.answer.ended()
            self._events.flush()
            if await self._store(ending):
                await self._events.finish()
                self._publish_end(ending)
            else:
                # Whoever follows reads from SQL how the turn really ended, or will end.
                self._shop.bus.drop(self.turn_id)
        finally:
            self._events.close()
            self.ended.set()

    async def _generate(self) -> Ending:
        self._events.event("start", {"turn_id": str(self.turn_id)})
        self._events.event("status", {"phase": "queued"})
        try:
            with self._scope:
                return await self._ask()
        except InferenceError as error:
            if self._cut is not None:
                return (
                    self._cut
                )  # What breaks while an answer is cut, as where its conversation was deleted, is no news.
            if isinstance(error, NotFound):
                self._backend.forget_model()
            logger.warning("turn %s: %s", self.turn_id, type(error).__name__)
            return endings.ending_of(error, has_text=self.answer.has_text)
        except Exception:
            logger.exception("turn %s failed in the app", self.turn_id)
            return self._cut or endings.INTERNAL
        assert self._cut is not None, "only cut() cancels the scope"
        return self._cut

    def _choose(self, tried: Container[str] = ()) -> ServingBackend:
        return self._shop.backends.choose(
            conversation=self.plan.conversation_id,
            model=self.plan.model,
            before=self.plan.base_backend,
            prefill=bool(self.plan.prefix),
            without=tried,
        )

    async def _ask(self) -> Ending:
        """Where nobody listens, the request goes to another backend, as long as there is one."""
        tried: set[str] = set()
        while True:
            try:
                return await self._ask_here()
            except ConnectFailed:
                self._backend.away = True
                tried.add(self._backend.name)
                other = self._choose(tried)
                if other.name in tried:
                    raise
                logger.warning("turn %s goes from %s to %s", self.turn_id, self._backend.name, other.name)
                self._backend = other

    async def _ask_here(self) -> Ending:
        model = self.plan.model or await self._backend.model()
        if model is None:
            return endings.NO_MODEL
        body, settings = self._body(model), self._backend.settings
        if not await self._begin(model, body):
            return endings.ROWS_GONE
        self.answer.requested(early_start=settings.early_message_start, names_base=self._names_base)
        if not settings.early_message_start:
            self._events.event("status", {"phase": "reading"})
        headers = {settings.session_header: str(self.plan.conversation_id)} if settings.session_header else None
        async with self._backend.client.stream({**body, **self._beside(settings)}, headers) as stream:
            async for event in stream:
                self._take(event, stream.snapshot)
        return endings.COMPLETED if self.answer.stop_reason else endings.NO_STOP_REASON

    def _body(self, model: str) -> prompt.Body:
        isolated = self._backend.settings.isolation == "metadata"
        return prompt.build(
            model=model,
            max_tokens=self.plan.max_tokens,
            system_prompt=self.plan.system_prompt,
            path=self.plan.path,
            user_scope=prompt.user_scope(self._shop.secret, self.plan.owner_id) if isolated else None,
            temperature=self.plan.params.temperature,
            top_p=self.plan.params.top_p,
            stop_sequences=self.plan.params.stop_sequences,
        )

    def _beside(self, settings: Backend) -> prompt.Body:
        """What concerns the cache and not the answer. It is no part of the body that is hashed and checked."""
        beside: prompt.Body = {}
        if settings.cache_control:
            beside["cache_control"] = {"type": "ephemeral"}
        if self._names_base:
            beside["diagnostics"] = {"previous_message_id": self.plan.base_message_id}
        return beside

    @property
    def _names_base(self) -> bool:
        """Whether the server is told which message this one follows; another server does not know it."""
        known_there = self.plan.base_backend == self._backend.name and self.plan.base_message_id is not None
        return self._backend.settings.diagnostics and known_there

    async def _begin(self, model: str, body: prompt.Body) -> bool:
        async with self._shop.database.write() as session:
            return await turn_rows.mark_running(
                session,
                self.turn_id,
                model=model,
                backend=self._backend.settings.name,
                request_sha256=prompt.request_sha256(self.plan.salt, body),
            )

    def _take(self, event: StreamEvent, snapshot: Message) -> None:
        match event:
            case TextDelta():
                if not self.answer.has_text:
                    self._events.event("status", {"phase": "writing"})
                text = clean_answer_text(event.text)
                self.answer.add(text)
                self._events.text(text)
            case MessageStart():
                self.answer.started()
                self.answer.take(snapshot)
                if self._backend.settings.early_message_start:
                    self._events.event("status", {"phase": "reading"})
            case MessageDelta():
                self.answer.take(snapshot)
            case Ping():
                self._take_ping(event)

    def _take_ping(self, ping: Ping) -> None:
        if ping.queue_position is not None:
            self._events.event("status", {"phase": "queued", "place": ping.queue_position})
        elif ping.prefill is not None and not self.answer.has_text:
            progress = ping.prefill
            numbers = {"total": progress.total, "cached": progress.cached, "processed": progress.processed}
            self._events.event("status", {"phase": "reading", **numbers})

    async def _store(self, ending: Ending) -> bool:
        """Tries until it is stored. False if the turn was ended elsewhere, or if the process ends first.

        In that case the row stays live, and the next start ends it.
        """
        pauses = self._shop.rhythm.store_pauses
        for pause in itertools.chain(pauses, itertools.repeat(pauses[-1])):
            try:
                async with self._shop.database.write() as session:
                    now = self._shop.clock()
                    ended = await turn_rows.end_turn(session, self.plan, self.answer, ending, now)
                    if ended:
                        await name_turns(session, Turn.id == self.turn_id, self._shop.backends)
                    return ended
            except SQLAlchemyError:
                logger.exception("the end of turn %s could not be stored", self.turn_id)
            with anyio.move_on_after(pause):
                await self._giving_up.wait()
            if self._giving_up.is_set():
                break
        return False

    def _publish_end(self, ending: Ending) -> None:
        """Only after the end is stored, so that a page that reloads on it sees the end."""
        reported = self.answer.reported
        self._events.event(
            "usage",
            {
                "input_tokens": reported.input_tokens,
                "cache_creation_input_tokens": reported.cache_creation_input_tokens,
                "cache_read_input_tokens": reported.cache_read_input_tokens,
                "output_tokens": reported.output_tokens,
            },
        )
        self._events.event(
            "end",
            {
                "status": ending.status,
                "stop_reason": self.answer.stop_reason,
                "error_type": ending.error_type,
                "error_message": ending.error_message,
            },
        )
