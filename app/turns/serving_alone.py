"""Without Redis one process serves a database: another one would neither see its live answers nor stop them at once."""

import logging
import time
from uuid import UUID

import anyio

from app.clock import Clock
from app.database import Database
from app.errors import ConfigurationError
from app.turns import workers
from app.turns.rhythm import Rhythm
from app.turns.workers import Process

logger = logging.getLogger(__name__)


async def serve_alone(database: Database, worker_id: UUID, process: Process, clock: Clock, rhythm: Rhythm) -> None:
    """Waits for a predecessor that is still draining, or whose heartbeat is about to grow old.

    Of two that start at once, the one with the higher id waits. ConfigurationError where the other one stays.
    """
    # A heartbeat of just now is old by then, if it was the last one.
    deadline = time.monotonic() + rhythm.stale_after + rhythm.poll
    others = await _elders(database, worker_id, process, clock, rhythm)
    if others:
        logger.warning("waiting until %s has ended, which serves the same database", ", ".join(others))
    while others:
        if time.monotonic() > deadline:
            raise ConfigurationError(
                f"Another process serves this database ({', '.join(others)}). "
                "Several processes need RECOUNT_REDIS_URL, the same for all of them; else stop the other one."
            )
        await anyio.sleep(rhythm.poll)
        others = await _elders(database, worker_id, process, clock, rhythm)


async def _elders(database: Database, worker_id: UUID, process: Process, clock: Clock, rhythm: Rhythm) -> list[str]:
    async with database.read() as session:
        return list(await workers.elders(session, worker_id, process, clock(), rhythm.stale_after))
