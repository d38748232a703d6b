"""The ranking of the conversations of a selection, by what an operator looks for: references and numbers, no titles."""

from typing import Final, get_args

from starlette.requests import Request
from starlette.responses import Response

from app.reports.marks import RankMark
from app.reports.ranking import RankingSort
from app.web.languages import Language
from app.web.operator.conversation_rows import rows_of
from app.web.operator.filters import filters_of
from app.web.operator.frame import FilterLink, SelectField, frame_of
from app.web.operator.lists import choice_of, mark_of
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of

PAGE_LENGTH: Final = 50
SORTS: Final[tuple[RankingSort, ...]] = get_args(RankingSort)


async def conversations(request: Request) -> Response:
    operator_of(request)
    filters, language = filters_of(request), visit_of(request).language
    sort = sort_of(request)
    after = mark_of(request, RankMark.parse)
    page = await house_of(request).overviews.ranking(filters.selection, sort, after, PAGE_LENGTH)
    names = _sort_names(language)
    order = SelectField("sort", language.gettext("Order"), tuple(names.items()), sort)
    return pages_of(request).response(
        request,
        "operator/conversations.html",
        **await frame_of(request, filters, [order]),
        rows=rows_of(page.rows, filters, language, sort),
        sorts=[FilterLink(words, filters.query(sort=name), name == sort) for name, words in names.items()],
        first=filters.query(sort=sort) if after else None,
        following=filters.query(sort=sort, after=page.after) if page.after else None,
    )


def sort_of(request: Request) -> RankingSort:
    """FilterError."""
    named = choice_of(request, "sort", SORTS)
    return next((sort for sort in SORTS if sort == named), "lost")


def _sort_names(language: Language) -> dict[str, str]:
    return {
        "lost": language.gettext("most lost"),
        "reuse": language.gettext("least reuse"),
        "turns": language.gettext("most turns"),
        "first_token": language.gettext("slowest first token"),
        "recent": language.gettext("last turn"),
    }
