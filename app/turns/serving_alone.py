"""Without Redis one process serves a database: another one would neither see its live answers nor stop them at once."""

import logging
import time
from collections.abc import Sequence
from uuid import UUID

import anyio
from sqlalchemy import select

from app.clock import Clock
from app.database import Database
from app.errors import ConfigurationError
from app.models import StoredSetting
from app.turns import workers
from app.turns.rhythm import Rhythm
from app.turns.workers import Process

logger = logging.getLogger(__name__)


async def serve_alone(database: Database, worker_id: UUID, process: Process, clock: Clock, rhythm: Rhythm) -> None:
    """Makes this worker the only one, by its first heartbeat.

    Waits for a predecessor that is still draining, or whose heartbeat is about to grow old; ConfigurationError
    where it stays.
    """
    # A heartbeat of just now is old by then, if it was the last one.
    deadline = time.monotonic() + rhythm.stale_after + rhythm.poll
    others = await _try(database, worker_id, process, clock, rhythm)
    if others:
        logger.warning("waiting until %s has ended, which serves the same database", ", ".join(others))
    while others:
        if time.monotonic() > deadline:
            raise ConfigurationError(
                f"Another process serves this database ({', '.join(others)}). "
                "Several processes need RECOUNT_REDIS_URL, the same for all of them; else stop the other one."
            )
        await anyio.sleep(rhythm.poll)
        others = await _try(database, worker_id, process, clock, rhythm)


async def _try(database: Database, worker_id: UUID, process: Process, clock: Clock, rhythm: Rhythm) -> Sequence[str]:
    """The other workers that live; this one does from now on if there are none."""
    async with database.write() as session:
        # Of processes that start together, each waits here for the one before it.
        await session.execute(select(StoredSetting.key).with_for_update())
        now = clock()
        await workers.bury_neighbours(session, worker_id, process, now)
        others = await workers.alive(session, now, rhythm.stale_after)
        if not others:
            await workers.beat(session, worker_id, process, now)
    return others
