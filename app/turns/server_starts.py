"""Which starts of model servers were seen, and when first. A server that names itself tells with every answer."""

from contextlib import suppress
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import ServingEvent, Turn

SERVER_START = "server_start"


async def record_start(session: AsyncSession, turn_id: UUID, now: datetime) -> None:
    """Stores the start of the server that answered this turn, unless somebody has seen it before."""
    found = await session.execute(select(Turn.backend, Turn.serving_id).where(Turn.id == turn_id))
    backend, serving_id = found.one()
    if backend is None or serving_id is None or await first_seen(session, backend, serving_id) is not None:
        return
    # Another process may be storing it at this moment.
    with suppress(IntegrityError):
        async with session.begin_nested():
            session.add(ServingEvent(kind=SERVER_START, backend=backend, serving_id=serving_id, at=now))


async def first_seen(session: AsyncSession, backend: str, serving_id: str) -> datetime | None:
    """None for a start that nobody has seen."""
    query = select(ServingEvent.at).where(
        ServingEvent.kind == SERVER_START, ServingEvent.backend == backend, ServingEvent.serving_id == serving_id
    )
    return await session.scalar(query)
