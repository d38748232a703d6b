"""Worker processes in SQL: heartbeats, and the end of turns whose worker is dead."""

import os
import socket
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import TURN_IS_LIVE, Turn, Worker
from app.turns.endings import WORKER_LOST


async def beat(session: AsyncSession, worker_id: UUID, now: datetime) -> None:
    """Makes the row again if somebody took this worker for dead."""
    worker = await session.get(Worker, worker_id)
    if worker is None:
        host = f"{socket.gethostname()}/{os.getpid()}"
        session.add(Worker(id=worker_id, host=host, started_at=now, heartbeat_at=now))
    else:
        worker.heartbeat_at = now


async def reap(session: AsyncSession, worker_id: UUID, now: datetime, stale_after: float) -> None:
    """Ends the turns of dead workers, their text kept as last saved; turns of live ones are untouched."""
    limit = now - timedelta(seconds=stale_after)
    alive = select(Worker.id).where(Worker.heartbeat_at >= limit).scalar_subquery()
    await session.execute(
        update(Turn)
        .where(
            TURN_IS_LIVE,
            Turn.worker_id != worker_id,
            Turn.worker_id.not_in(alive),
        )
        .values(
            status=WORKER_LOST.status,
            error_type=WORKER_LOST.error_type,
            error_message=WORKER_LOST.error_message,
            finished_at=now,
        )
        .execution_options(synchronize_session=False)
    )
    await session.execute(
        delete(Worker)
        .where(Worker.heartbeat_at < limit, Worker.id != worker_id)
        .execution_options(synchronize_session=False)
    )


async def leave(session: AsyncSession, worker_id: UUID) -> None:
    """At a clean end: nobody has to wait for the heartbeat to grow old."""
    await session.execute(delete(Worker).where(Worker.id == worker_id))
