"""What the operator's filters can be set to, without reading every turn."""

from sqlalchemy import exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.models import Conversation, Turn, User
from app.reports.measures import COUNTED
from app.reports.overview import FilterChoices


async def filter_choices(session: AsyncSession) -> FilterChoices:
    users = (
        select(User.id, User.name)
        .where(
            exists()
            .where(Conversation.owner_id == User.id, Turn.conversation_id == Conversation.id, COUNTED)
            .correlate(User)
        )
        .order_by(User.name)
    )
    return FilterChoices(
        models=await _distinct(session, Turn.model),
        backends=await _distinct(session, Turn.backend),
        users=tuple((row[0], row[1]) for row in await session.execute(users)),
    )


async def _distinct(session: AsyncSession, column: InstrumentedAttribute[str | None]) -> tuple[str, ...]:
    """One step of the index for each value: neither database leaps from value to value by itself."""
    first = select(func.min(column).label("value")).where(COUNTED)
    values = first.cte("values", recursive=True)
    following = select(func.min(column)).where(column > values.c.value, COUNTED).scalar_subquery()
    values = values.union_all(select(following).where(values.c.value.is_not(None)))
    found = await session.scalars(select(values.c.value).where(values.c.value.is_not(None)))
    return tuple(value for value in found if value is not None)
