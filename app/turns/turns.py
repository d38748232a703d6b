"""The turns of an owner: send, follow, stop. Generating goes on whoever watches."""

import time
from collections.abc import AsyncIterator
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.conversations import LiveText
from app.conversations.owners import ask_turns_to_stop
from app.database import Database
from app.errors import NotFound, TooMany
from app.models import TURN_IS_LIVE, Conversation, Turn
from app.turns import following, sending, workers
from app.turns.bus import Bus
from app.turns.endings import ROWS_GONE, STOPPED
from app.turns.events import TurnEvent
from app.turns.jobs import Jobs
from app.turns.question import check_request
from app.turns.requests import SendRequest, SentTurn
from app.turns.rhythm import Rhythm

_RETRY_AFTER_S = 5


class LiveLogs:
    """What conversations may ask of running turns."""

    def __init__(self, bus: Bus, jobs: Jobs, rhythm: Rhythm) -> None:
        self._bus = bus
        self._jobs = jobs
        self._rhythm = rhythm

    def snapshot(self, turn_id: UUID) -> LiveText | None:
        return self._bus.snapshot(turn_id)

    async def forget(self, turn_id: UUID) -> None:
        await self._jobs.cut(turn_id, ROWS_GONE, wait=self._rhythm.stop_wait)
        self._bus.drop(turn_id)


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
        limits: sending.SendLimits,
        rhythm: Rhythm,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._bus = bus
        self._clock = clock
        self._worker_id = worker_id
        self._limits = limits
        self._rhythm = rhythm

    async def send(self, owner_id: UUID, request: SendRequest) -> SentTurn:
        """Stores the question and starts its turn. The same key and body give the same turn again.

        InvalidInput for an unusable text; Conflict while a turn is live in the conversation, or for
        a key that came with another body; TooMany at the limit of live turns; NotFound.
        """
        question = check_request(request, self._limits.max_message_characters)
        if self._jobs.closed:
            raise TooMany("The app is being restarted.", _RETRY_AFTER_S)
        acceptance = sending.Acceptance(
            self._clock(), time.monotonic(), self._worker_id, self._rhythm.stale_after, self._limits
        )
        with self._jobs.announced(question.turn_id):
            async with self._database.write() as session:
                user = await sending.locked_user(session, owner_id)
                earlier = await sending.find_submission(session, owner_id, question)
                if earlier is not None:
                    return earlier
                sent, plan = await sending.store_question(session, user, question, acceptance)
            self._jobs.start(plan)
        return sent

    async def stop(self, owner_id: UUID, turn_id: UUID) -> None:
        """Ends the answer in the queue, while the prompt is read, or while it is written.

        The text stays. Nothing happens to a turn that has ended. An answer of another process ends
        at its next checkpoint.
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
        await self._jobs.cut(turn_id, STOPPED, wait=self._rhythm.stop_wait)

    async def stop_all_of(self, owner_id: UUID) -> None:
        """Asks every live turn of the owner to end, whichever process runs it. Those of this one end now."""
        async with self._database.write() as session:
            live = await ask_turns_to_stop(session, owner_id, self._clock())
        for turn_id in live:
            await self._jobs.cut(turn_id, STOPPED, wait=self._rhythm.stop_wait)

    async def events(self, owner_id: UUID, turn_id: UUID, after: int) -> AsyncIterator[TurnEvent]:
        """`async for event in await turns.events(...)`: those behind `after`, up to `end`.

        NotFound comes from the call itself. Nothing comes if the reader has everything.
        """
        async with self._database.read() as session:
            await _owned_turn(session, owner_id, turn_id)
        return following.follow(self._bus, self._database, turn_id, after, self._rhythm.poll)


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
