"""Rows of worker processes: heartbeats, and the end of turns whose worker is dead."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import TURN_IS_LIVE, Turn, Worker
from app.turns.endings import WORKER_LOST


@dataclass(frozen=True, slots=True)
class Process:
    """Where a worker runs; stored as "hostname/pid"."""

    hostname: str
    pid: int

    @classmethod
    def own(cls) -> Self:
        return cls(socket.gethostname(), os.getpid())

    @classmethod
    def parse(cls, stored: str) -> Self | None:
        """None for what is not of this form; 0 is no process, but a group, when it is asked for."""
        hostname, _, pid = stored.rpartition("/")
        if not (hostname and pid.isascii() and pid.isdigit() and int(pid) > 0):
            return None
        return cls(hostname, int(pid))

    def __str__(self) -> str:
        return f"{self.hostname}/{self.pid}"

    def exists(self) -> bool:
        """Only to be asked on its own host. A process of another user exists as well."""
        try:
            os.kill(self.pid, 0)
        except PermissionError:
            return True
        except (ProcessLookupError, OverflowError):
            return False
        return True


async def beat(session: AsyncSession, worker_id: UUID, process: Process, now: datetime) -> None:
    """Makes the row again if somebody took this worker for dead."""
    worker = await session.get(Worker, worker_id)
    if worker is None:
        session.add(Worker(id=worker_id, host=str(process), started_at=now, heartbeat_at=now))
    else:
        worker.heartbeat_at = now


async def bury_neighbours(session: AsyncSession, worker_id: UUID, process: Process, now: datetime) -> None:
    """To be called at the start, before the first turn: ends the turns of workers that ran on this host.

    Their heartbeats may still be young, but their process is gone, or its number is ours now, as in a
    container that was started again. Workers on other hosts are judged by their heartbeats alone.
    """
    rows = (await session.execute(select(Worker.id, Worker.host).where(Worker.id != worker_id))).all()
    dead = [worker_id for worker_id, stored in rows if _is_dead_neighbour(Process.parse(stored), process)]
    await _end_turns(session, Turn.worker_id.in_(dead), now)
    await _forget(session, dead)


def _is_dead_neighbour(other: Process | None, process: Process) -> bool:
    if other is None or other.hostname != process.hostname:
        return False
    return other.pid == process.pid or not other.exists()


async def reap(session: AsyncSession, worker_id: UUID, now: datetime, stale_after: float) -> None:
    """Ends the turns of dead workers, their text kept as last saved; turns of live ones are untouched."""
    limit = now - timedelta(seconds=stale_after)
    alive = select(Worker.id).where(Worker.heartbeat_at >= limit).scalar_subquery()
    await _end_turns(session, (Turn.worker_id != worker_id) & Turn.worker_id.not_in(alive), now)
    dead = await session.scalars(select(Worker.id).where(Worker.heartbeat_at < limit, Worker.id != worker_id))
    await _forget(session, dead.all())


async def alive(session: AsyncSession, now: datetime, stale_after: float) -> Sequence[str]:
    """The workers whose heartbeat is young, as "hostname/pid"."""
    limit = now - timedelta(seconds=stale_after)
    return (await session.scalars(select(Worker.host).where(Worker.heartbeat_at >= limit))).all()


async def leave(session: AsyncSession, worker_id: UUID) -> None:
    """At a clean end: nobody has to wait for the heartbeat to grow old."""
    await _forget(session, [worker_id])


async def _end_turns(session: AsyncSession, of_dead_workers: ColumnElement[bool], now: datetime) -> None:
    await session.execute(
        update(Turn)
        .where(TURN_IS_LIVE, of_dead_workers)
        .values(
            status=WORKER_LOST.status,
            error_type=WORKER_LOST.error_type,
            error_message=WORKER_LOST.error_message,
            finished_at=now,
        )
        .execution_options(synchronize_session=False)
    )


async def _forget(session: AsyncSession, worker_ids: Sequence[UUID]) -> None:
    await session.execute(delete(Worker).where(Worker.id.in_(worker_ids)).execution_options(synchronize_session=False))
