"""What the operator's filters can be set to, without reading every turn."""

from sqlalchemy import ColumnElement, ScalarSelect, Select, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.models import Conversation, Turn, User
from app.reports.measures import COUNTED
from app.reports.overview import FilterChoices


async def filter_choices(session: AsyncSession) -> FilterChoices:
    places = [(backend, model) for backend, model in await session.execute(_places()) if backend is not None]
    owns = exists().where(Conversation.owner_id == User.id)
    users = await session.execute(select(User.id, User.name).where(owns).order_by(User.name))
    return FilterChoices(
        models=tuple(sorted({model for _, model in places if model is not None})),
        backends=tuple(sorted({backend for backend, _ in places})),
        users=tuple((row[0], row[1]) for row in users),
    )


def _places() -> Select[str | None, str | None]:
    """Backends with their models, each list with an empty one behind it.

    One step of the index for each value: neither database leaps from value to value by itself.
    """
    first = select(_least(Turn.backend).label("backend")).cte("backends", recursive=True)
    backend = first.c.backend
    backends = first.union_all(select(_least(Turn.backend, Turn.backend > backend)).where(backend.is_not(None)))
    backend = backends.c.backend
    model = _least(Turn.model, Turn.backend == backend).label("model")
    begun = select(backend, model).cte("places", recursive=True)
    further = _least(Turn.model, Turn.backend == begun.c.backend, Turn.model > begun.c.model)
    places = begun.union_all(select(begun.c.backend, further).where(begun.c.model.is_not(None)))
    return select(places.c.backend, places.c.model)


def _least(column: InstrumentedAttribute[str | None], *conditions: ColumnElement[bool]) -> ScalarSelect[str | None]:
    return select(func.min(column)).where(COUNTED, *conditions).correlate_except(Turn).scalar_subquery()
