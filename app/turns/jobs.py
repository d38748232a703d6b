"""The jobs of this process, held so that none is lost, and found by their turn."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import anyio

from app.turns.endings import STOPPED, Ending
from app.turns.job import Job, Workshop
from app.turns.plan import Plan

logger = logging.getLogger(__name__)


class Jobs:
    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._running: dict[UUID, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._announced: set[UUID] = set()
        self.closed = False

    @property
    def takes_prefill(self) -> bool:
        return any(backend.settings.prefill for backend in self._shop.backends.all)

    @contextmanager
    def announced(self, turn_id: UUID) -> Iterator[None]:
        """Says that this turn's row may appear before its job does."""
        self._announced.add(turn_id)
        try:
            yield
        finally:
            self._announced.discard(turn_id)

    def knows(self, turn_id: UUID) -> bool:
        return turn_id in self._running or turn_id in self._announced

    def running(self) -> list[Job]:
        return list(self._running.values())

    def start(self, plan: Plan) -> None:
        job = Job(plan, self._shop)
        self._running[plan.turn_id] = job
        task = asyncio.create_task(self._run(job), name=f"turn {plan.turn_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, job: Job) -> None:
        try:
            await job.run()
        except Exception:
            logger.exception("the job of turn %s broke", job.turn_id)
            self._shop.bus.drop(job.turn_id)  # Whoever follows reads from SQL how the turn will be ended.
        finally:
            del self._running[job.turn_id]

    def stop(self, turn_id: UUID) -> None:
        """Ends the turn as stopped if its job is here."""
        job = self._running.get(turn_id)
        if job is not None:
            job.cut(STOPPED)

    async def cut(self, turn_id: UUID, ending: Ending, *, wait: float) -> None:
        """Ends the turn if its job is here, and waits a moment until that is stored."""
        job = self._running.get(turn_id)
        if job is None:
            return
        job.cut(ending)
        with anyio.move_on_after(wait):
            await job.ended.wait()

    async def close(self, ending: Ending, *, drain: float) -> None:
        """Takes no more turns, gives live ones `drain` seconds, then cuts them and waits until they are stored.

        An end that cannot be stored soon is given up.
        """
        self.closed = True
        if drain > 0:
            await self._wait(drain)
        for job in self.running():
            job.cut(ending)
        await self._wait(self._shop.rhythm.last_tries)
        for job in self.running():
            job.give_up()
        await self._wait(None)

    async def _wait(self, seconds: float | None) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
