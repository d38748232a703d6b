"""Lists of one's own conversations: all, the archive, the sidebar's part; and what their menus do."""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.conversations.listing import PAGE_LENGTH, Shelf
from app.conversations.paging import PageMark
from app.errors import Conflict
from app.web.conversation_pages import conversation_id_of
from app.web.error_pages import status_of
from app.web.forms import field, local_path
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.sidebar import around
from app.web.visit import account_of, house_of, visit_of


async def all_conversations(request: Request) -> Response:
    account_of(request)
    return await _list_page(request)


async def _list_page(request: Request, status: int = 200, problem: str | None = None) -> Response:
    """Page by page; pinned ones stand before the first."""
    owner, conversations = account_of(request).id, house_of(request).conversations
    shelf: Shelf = "archived" if request.query_params.get("archived") else "recent"
    before = PageMark.parse(request.query_params.get("before", ""))
    rows = await conversations.list(owner, shelf, before=before, limit=PAGE_LENGTH + 1)
    listed = rows[:PAGE_LENGTH]
    more = PageMark(listed[-1].updated_at, listed[-1].id) if len(rows) > PAGE_LENGTH else None
    values = await around(request)
    if shelf == "recent" and before is None:
        listed = [*values["pinned"], *listed]
    return pages_of(request).response(
        request,
        "conversations.html",
        status=status,
        **values,
        problem=problem,
        shelf=shelf,
        before=before,
        listed=listed,
        more=more,
        retention_days=house_of(request).settings.retention_days,
    )


async def sidebar(request: Request) -> Response:
    """The lists of the sidebar for our script, which has seen the answer of the conversation that it names."""
    owner = account_of(request).id
    current = _uuid(request.query_params.get("current", ""))
    if current is not None and request.query_params.get("seen"):
        await house_of(request).lifecycle.mark_seen(owner, current)
    values = await around(request)
    here = local_path(request.query_params.get("here", "/"))
    return pages_of(request).response(request, "fragments/sidebar.html", **{**values, "current": current, "here": here})


async def pin(request: Request) -> Response:
    owner, conversation_id = account_of(request).id, conversation_id_of(request)
    try:
        await house_of(request).lifecycle.pin(owner, conversation_id, bool(field(request, "pinned")))
    except Conflict as error:
        return await _list_page(request, status_of(error), error_words(error, visit_of(request).language))
    return _back(request)


async def archive(request: Request) -> Response:
    owner, conversation_id = account_of(request).id, conversation_id_of(request)
    await house_of(request).lifecycle.archive(owner, conversation_id, bool(field(request, "archived")))
    return _back(request)


def _back(request: Request) -> Response:
    return RedirectResponse(local_path(field(request, "next") or "/"), 303)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
