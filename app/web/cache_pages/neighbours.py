"""The way through the ranking of conversations, for an operator who came from there."""

from dataclasses import dataclass
from uuid import UUID

from starlette.requests import Request

from app.web.cache_pages.places import operators_places
from app.web.operator.conversations_page import sort_of
from app.web.operator.filters import filters_of
from app.web.visit import house_of


@dataclass(frozen=True, slots=True)
class Around:
    """Addresses: of the ranking, and of the conversations above and below in it. `query` keeps them together."""

    ranking: str
    previous: str | None
    next: str | None
    query: tuple[tuple[str, str], ...]


async def ranking_around(request: Request, conversation_id: UUID) -> Around | None:
    """None where the address names no order. FilterError."""
    if "sort" not in request.query_params:
        return None
    filters, sort = filters_of(request), sort_of(request)
    found = await house_of(request).overviews.neighbours(filters.selection, sort, conversation_id)
    query = filters.query(sort=sort)

    def page(neighbour: UUID | None) -> str | None:
        return None if neighbour is None else f"{operators_places(neighbour).conversation}?{query}"

    fields = tuple({**filters.given, "sort": sort}.items())
    return Around(f"/operator/conversations?{query}", page(found.previous), page(found.next), fields)
