"""The turns of an owner: send, follow, stop. Generating goes on whoever watches."""

import time
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import anyio
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.conversations import BEYOND_LOGS, GoneTurn, LiveText, TurnKind
from app.conversations.owners import ask_turns_to_stop
from app.conversations.ownership import live_turn_id, owned_conversation
from app.conversations.tree import load_nodes
from app.database import Database
from app.errors import Conflict, NotFound, TooMany
from app.models import TURN_IS_LIVE, Conversation, Turn, User
from app.prompt import PathMessage
from app.turns import fitting, following, sending, workers
from app.turns.acceptance import Acceptance, SendLimits
from app.turns.backends import Backends
from app.turns.base_turn import find_base
from app.turns.bus import Bus
from app.turns.endings import ROWS_GONE, STOPPED
from app.turns.events import TurnEvent
from app.turns.jobs import Jobs
from app.turns.placement import Placement, place
from app.turns.prefill_speed import prefill_speeds
from app.turns.question import Question, check_request
from app.turns.requests import SendRequest, SentTurn
from app.turns.rhythm import Rhythm

_RETRY_AFTER_S = 5


class LiveLogs:
    """What conversations may ask of running turns."""

    def __init__(self, bus: Bus, jobs: Jobs, backends: Backends, rhythm: Rhythm) -> None:
        self._bus = bus
        self._jobs = jobs
        self._backends = backends
        self._rhythm = rhythm

    async def snapshot(self, turn_id: UUID) -> LiveText | None:
        return await self._bus.snapshot(turn_id)

    async def forget(self, turns: Sequence[GoneTurn]) -> None:
        for turn in turns:
            await self._jobs.cut(turn.id, ROWS_GONE, wait=self._rhythm.stop_wait)
            self._bus.cancel(turn.id)
            self._bus.drop(turn.id)
        await self._backends.forget([turn.backend_message_id for turn in turns if turn.backend_message_id])


class Turns:
    """Every call takes the owner first; NotFound for missing and foreign turns alike."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        bus: Bus,
        clock: Clock,
        *,
        worker_id: UUID,
        limits: SendLimits,
        rhythm: Rhythm,
        fits: fitting.Fitting,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._bus = bus
        self._clock = clock
        self._worker_id = worker_id
        self._limits = limits
        self._rhythm = rhythm
        self._fits = fits

    def context_window(
        self, model: str | None = None, conversation_id: UUID | None = None, backend: str | None = None
    ) -> int | None:
        """In tokens, of this model or of the one that answers without a choice; None where nobody has said.

        `backend` is the one that served the conversation last.
        """
        return self._fits.context_window(model, conversation_id, backend)

    @property
    def window_unasked(self) -> bool:
        """Whether `learn_windows` may tell a window that is not known, as after a restart."""
        return self._fits.window_unasked

    async def learn_windows(self) -> None:
        """Asks the model servers, for two seconds at most."""
        await self._fits.learn_windows()

    async def prefill_speed(self, backend: str | None = None) -> float | None:
        """In tokens per second, of this model server or of the first; None where it was not measured lately."""
        async with self._database.read() as session:
            name = backend or self._fits.first_backend
            return (await prefill_speeds(session, [name], self._clock())).get(name)

    async def send(self, owner_id: UUID, request: SendRequest) -> SentTurn:
        """Stores what is new and starts its turn. The same key and body give the same turn again.

        InvalidInput for an unusable text, and for one that does not fit the context window; Conflict while a turn
        is live in the conversation, for a key that came with another body, and for an answer that cannot be
        continued; TooMany at the limit of live turns; NotFound.
        """
        question = check_request(request, self._limits.max_message_characters)
        if request.kind == "continue" and not self.takes_prefill:
            raise Conflict("The model server cannot continue an answer.")
        if self._jobs.closed:
            raise TooMany("The app is being restarted.", _RETRY_AFTER_S)
        acceptance = Acceptance(
            self._clock(), time.monotonic(), self._worker_id, self._rhythm.stale_after, self._limits
        )
        cut = await self._cut(owner_id, question)
        with self._jobs.announced(question.turn_id):
            async with self._database.write() as session:
                user = await sending.locked_user(session, owner_id)
                earlier = await sending.find_submission(session, owner_id, question)
                if earlier is not None:
                    return earlier
                sent, plan = await sending.store_turn(session, user, question, acceptance, cut)
            self._jobs.start(plan)
        return sent

    @property
    def takes_prefill(self) -> bool:
        """Whether answers can be continued where turns go to."""
        return self._jobs.takes_prefill

    async def _cut(self, owner_id: UUID, question: Question) -> fitting.Cut | None:
        """None too for what `send` will not accept, or has accepted before."""
        standing = fitting.first_standing(question.system_prompt, question.choice, self._limits.answer_tokens)
        async with self._database.read() as session:
            user = await session.get(User, owner_id)
            if user is None or await sending.find_submission(session, owner_id, question) is not None:
                return None
            new = PathMessage("user", question.text, sending.note_of(user, question, self._clock()))
            if question.conversation_id is not None:
                conversation = await owned_conversation(session, owner_id, question.conversation_id)
                if await live_turn_id(session, conversation.id) is not None:
                    return None
                nodes = await load_nodes(session, conversation.id)
                placement = place(question.kind, nodes, question.message_id, conversation.active_leaf_id)
                if await _goes_on(session, question.kind, placement):
                    return None
                if placement.asked is not None:
                    new = PathMessage("user", placement.asked.text, placement.asked.context_note)
                standing = await fitting.standing_of(
                    session, conversation, placement.history, self._limits.answer_tokens
                )
        return await self._fits.check(owner_id, standing, new)

    async def stop(self, owner_id: UUID, turn_id: UUID) -> None:
        """Ends the answer in the queue, while the prompt is read, or while it is written.

        The text stays. Nothing happens to a turn that has ended. Another process hears of it through the bus,
        or reads the flag at its next checkpoint.
        """
        async with self._database.write() as session:
            await _owned_turn(session, owner_id, turn_id)
            now = self._clock()
            await workers.reap(session, self._worker_id, now, self._rhythm.stale_after)
            await session.execute(
                update(Turn)
                .where(Turn.id == turn_id, TURN_IS_LIVE, Turn.stop_requested_at.is_(None))
                .values(stop_requested_at=now)
            )
        if self._jobs.knows(turn_id):
            await self._jobs.cut(turn_id, STOPPED, wait=self._rhythm.stop_wait)
        else:
            self._bus.cancel(turn_id)
            await self._wait_for_end(turn_id)

    async def stop_all_of(self, owner_id: UUID) -> None:
        """Asks every live turn of the owner to end, whichever process runs it. Those of this one end now."""
        async with self._database.write() as session:
            live = await ask_turns_to_stop(session, owner_id, self._clock())
        for turn_id in live:
            if self._jobs.knows(turn_id):
                await self._jobs.cut(turn_id, STOPPED, wait=self._rhythm.stop_wait)
            else:
                self._bus.cancel(turn_id)

    async def events(self, owner_id: UUID, turn_id: UUID, after: int) -> AsyncIterator[TurnEvent]:
        """`async for event in await turns.events(...)`: those behind `after`, up to `end`.

        NotFound comes from the call itself. Nothing comes if the reader has everything.
        """
        async with self._database.read() as session:
            await _owned_turn(session, owner_id, turn_id)
        return following.follow(self._bus, self._database, turn_id, after, self._rhythm.poll)

    async def _wait_for_end(self, turn_id: UUID) -> None:
        with anyio.move_on_after(self._rhythm.stop_wait):
            async for _ in following.follow(self._bus, self._database, turn_id, BEYOND_LOGS, self._rhythm.poll):
                pass


async def _goes_on(session: AsyncSession, kind: TurnKind, placement: Placement) -> bool:
    """Whether the turn sends a prompt that the model has taken before, or goes on with its own answer to it."""
    if kind == "continue":
        return True
    if placement.asked is None:
        return False
    base, _ = await find_base(session, kind, placement)
    return base is not None and base.user_message_id == placement.asked.id


async def _owned_turn(session: AsyncSession, owner_id: UUID, turn_id: UUID) -> UUID:
    query = (
        select(Turn.id)
        .join(Conversation, Conversation.id == Turn.conversation_id)
        .where(Turn.id == turn_id, Conversation.owner_id == owner_id, Conversation.deleted_at.is_(None))
    )
    found = await session.scalar(query)
    if found is None:
        raise NotFound
    return found
