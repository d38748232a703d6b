"""What SQL knows of each backend: since when it serves, its last turn, how often it reported what it read."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.database import Database
from app.models import ServingEvent, Turn
from app.serving_events import SERVER_START

RECENT: Final = timedelta(hours=24)
LAST_TURN_WITHIN: Final = timedelta(days=30)
_PROMPT = Turn.input_tokens + Turn.cache_creation_input_tokens + Turn.cache_read_input_tokens


@dataclass(frozen=True, slots=True)
class BackendFigures:
    """`serving_since` is when its newest start was first seen, None for a backend that names none.

    `last_turn_at` is None where there was no turn within 30 days. Of the `completed` turns of the last 24 hours so
    many `reported` all three parts of their prompt.
    """

    serving_since: datetime | None
    serving_id: str | None
    last_turn_at: datetime | None
    completed: int
    reported: int


class BackendReports:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def figures(self, backend: str, now: datetime) -> BackendFigures:
        """Without probes and imported turns."""
        async with self._database.read() as session:
            since, serving_id = await _newest_start(session, backend)
            completed, reported = await _coverage(session, backend, now)
            return BackendFigures(since, serving_id, await _last_turn(session, backend, now), completed, reported)


async def _newest_start(session: AsyncSession, backend: str) -> tuple[datetime | None, str | None]:
    query = (
        select(ServingEvent.at, ServingEvent.serving_id)
        .where(ServingEvent.kind == SERVER_START, ServingEvent.backend == backend)
        .order_by(ServingEvent.at.desc(), ServingEvent.id.desc())
        .limit(1)
    )
    found = (await session.execute(query)).one_or_none()
    return (found[0], found[1]) if found else (None, None)


async def _coverage(session: AsyncSession, backend: str, now: datetime) -> tuple[int, int]:
    query = select(func.count(), func.count(_PROMPT)).where(
        Turn.created_at > now - RECENT,
        Turn.backend == backend,
        Turn.status == "completed",
        Turn.purpose == "chat",
        Turn.imported_at.is_(None),
    )
    completed, reported = (await session.execute(query)).one()
    return completed, reported


async def _last_turn(session: AsyncSession, backend: str, now: datetime) -> datetime | None:
    query = (
        select(Turn.created_at)
        .where(
            Turn.created_at > now - LAST_TURN_WITHIN,
            Turn.backend == backend,
            Turn.purpose == "chat",
            Turn.imported_at.is_(None),
        )
        .order_by(Turn.created_at.desc())
        .limit(1)
    )
    return await session.scalar(query)
