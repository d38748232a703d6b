"""Searching in one's own conversations."""

from starlette.requests import Request
from starlette.responses import Response

from app.conversations.paging import PageMark
from app.conversations.search import LONGEST_QUERY, SearchPage
from app.errors import InvalidInput
from app.web.error_pages import status_of
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.sidebar import around
from app.web.visit import account_of, house_of, visit_of


async def search(request: Request) -> Response:
    owner = account_of(request).id
    query = request.query_params.get("q", "")
    before = PageMark.parse(request.query_params.get("before", ""))
    status, problem, found = 200, None, SearchPage((), None)
    try:
        found = await house_of(request).search.find(owner, query, before)
    except InvalidInput as error:
        status, problem = status_of(error), error_words(error, visit_of(request).language)
    return pages_of(request).response(
        request,
        "search.html",
        status=status,
        **await around(request),
        q=query,
        found=found,
        before=before,
        problem=problem,
        longest_query=LONGEST_QUERY,
    )
