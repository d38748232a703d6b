"""Which starts of model servers were seen, and when first: when one is looked at, or by the answers that it gives."""

import logging
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.database import Database
from app.models import ServingEvent, Turn
from app.serving_events import SERVER_START

logger = logging.getLogger(__name__)


class ServerStarts:
    """Remembers which start of each backend it was told of last, so that most looks need no database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._told: dict[str, str] = {}

    async def seen(self, backend: str, serving_id: str) -> None:
        """Now. What cannot be stored is stored with the next look."""
        if self._told.get(backend) == serving_id:
            return
        try:
            async with self._database.write() as session:
                await _record(session, backend, serving_id, self._clock())
        except SQLAlchemyError:
            logger.exception("the start of model server %s could not be stored", backend)
            return
        self._told[backend] = serving_id


async def record_start(session: AsyncSession, turn_id: UUID) -> None:
    """The start of the server that answered this turn: it was there for it, perhaps before anybody looked."""
    found = await session.execute(select(Turn.backend, Turn.serving_id, Turn.created_at).where(Turn.id == turn_id))
    backend, serving_id, at = found.one()
    if backend is not None and serving_id is not None:
        await _record(session, backend, serving_id, at)


async def first_seen(session: AsyncSession, backend: str, serving_id: str) -> datetime | None:
    """None for a start that nobody has seen."""
    event = await _event(session, backend, serving_id)
    return event.at if event else None


async def _record(session: AsyncSession, backend: str, serving_id: str, at: datetime) -> None:
    event = await _event(session, backend, serving_id)
    if event is not None:
        event.at = min(event.at, at)
        return
    # Another process may be storing it at this moment.
    with suppress(IntegrityError):
        async with session.begin_nested():
            session.add(ServingEvent(kind=SERVER_START, backend=backend, serving_id=serving_id, at=at))


async def _event(session: AsyncSession, backend: str, serving_id: str) -> ServingEvent | None:
    return await session.scalar(
        select(ServingEvent).where(
            ServingEvent.kind == SERVER_START, ServingEvent.backend == backend, ServingEvent.serving_id == serving_id
        )
    )
