"""The one task of a process that keeps SQL in step with its jobs, all in one transaction per tick."""

import logging
import time
from collections.abc import Sequence
from uuid import UUID

import anyio
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.database import Database
from app.models import TURN_IS_LIVE, Turn
from app.turns import turn_rows, workers
from app.turns.backends import Backends
from app.turns.bus import Bus
from app.turns.endings import ROWS_GONE, STOPPED, WORKER_LOST
from app.turns.job import Job
from app.turns.jobs import Jobs
from app.turns.naming import UNNAMED, name_turns
from app.turns.rhythm import Rhythm
from app.turns.workers import Process

logger = logging.getLogger(__name__)


class Checkpointer:
    """Writes what has grown, reads stop flags, beats the heart, ends turns of dead workers and names their outcomes."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        bus: Bus,
        backends: Backends,
        clock: Clock,
        *,
        worker_id: UUID,
        process: Process,
        rhythm: Rhythm,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._bus = bus
        self._backends = backends
        self._clock = clock
        self._worker_id = worker_id
        self._process = process
        self._rhythm = rhythm
        self._stopping = anyio.Event()
        self._next_beat = 0.0
        self._next_reap = 0.0

    def stop(self) -> None:
        self._stopping.set()

    async def begin(self) -> None:
        """Before the first turn: the turns of a killed predecessor end, and this worker lives."""
        async with self._database.write() as session:
            await workers.bury_neighbours(session, self._worker_id, self._process, self._clock())
        await self.tick()

    async def run(self) -> None:
        """Until stopped. A database that is away is tried again at the next tick."""
        while True:
            with anyio.move_on_after(self._rhythm.checkpoint):
                await self._stopping.wait()
                return
            try:
                await self.tick()
            except SQLAlchemyError:
                logger.exception("a checkpoint could not be written")

    async def tick(self) -> None:
        self._bus.sweep()
        now = time.monotonic()
        jobs = self._jobs.running()
        beat, reap = now >= self._next_beat, now >= self._next_reap
        if not (jobs or beat or reap):
            return
        changed = [(job, job.answer.changes) for job in jobs if job.answer.changes > job.saved_changes]
        async with self._database.write() as session:
            for job, _ in changed:
                await turn_rows.save_progress(session, job.plan, job.answer)
            flags = await self._live_rows(session)
            if beat:
                await workers.beat(session, self._worker_id, self._process, self._clock())
            if reap:
                await workers.reap(session, self._worker_id, self._clock(), self._rhythm.stale_after)
                await self._end_orphans(session, flags)
                await name_turns(session, UNNAMED, self._backends)
        for job, changes in changed:
            job.saved_changes = changes
        self._next_beat = now + self._rhythm.heartbeat if beat else self._next_beat
        self._next_reap = now + self._rhythm.reap if reap else self._next_reap
        _obey(jobs, flags)

    async def _live_rows(self, session: AsyncSession) -> dict[UUID, bool]:
        """The live turns of this worker, and whether a stop was asked for."""
        rows = await session.execute(
            select(Turn.id, Turn.stop_requested_at.is_not(None)).where(Turn.worker_id == self._worker_id, TURN_IS_LIVE)
        )
        return {row[0]: row[1] for row in rows}

    async def _end_orphans(self, session: AsyncSession, flags: dict[UUID, bool]) -> None:
        """Rows of this worker that no job works on: a send or an end that broke off half-way."""
        for turn_id in flags:
            if not self._jobs.knows(turn_id):
                await turn_rows.close_turn(session, turn_id, WORKER_LOST, self._clock())


def _obey(jobs: Sequence[Job], flags: dict[UUID, bool]) -> None:
    for job in jobs:
        if job.turn_id not in flags:
            job.cut(ROWS_GONE)
        elif flags[job.turn_id]:
            job.cut(STOPPED)
