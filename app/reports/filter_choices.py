"""What the operator's filters can be set to, without reading every turn."""

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.models import Conversation, Turn, User
from app.reports.measures import COUNTED
from app.reports.overview import FilterChoices


async def filter_choices(session: AsyncSession) -> FilterChoices:
    backends = await _distinct(session, Turn.backend)
    models: set[str] = set()
    for backend in backends:
        models.update(await _distinct(session, Turn.model, Turn.backend == backend))
    owns = exists().where(Conversation.owner_id == User.id)
    users = await session.execute(select(User.id, User.name).where(owns).order_by(User.name))
    return FilterChoices(tuple(sorted(models)), backends, tuple((row[0], row[1]) for row in users))


async def _distinct(
    session: AsyncSession, column: InstrumentedAttribute[str | None], *conditions: ColumnElement[bool]
) -> tuple[str, ...]:
    """One step of the index for each value: neither database leaps from value to value by itself."""
    found: list[str] = []
    value = await session.scalar(select(func.min(column)).where(COUNTED, *conditions))
    while value is not None:
        found.append(value)
        value = await session.scalar(select(func.min(column)).where(COUNTED, column > value, *conditions))
    return tuple(found)
