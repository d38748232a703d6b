"""What the pages of turns and conversations read from their address beside the filters; a wrong value is refused."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from starlette.requests import Request

from app.conversations.paging import MomentMark
from app.reports.marks import RankMark
from app.web.operator.filters import YEARS, refusal
from app.web.visit import visit_of

Mark = TypeVar("Mark", MomentMark, RankMark)


def choice_of(request: Request, field: str, allowed: Sequence[str]) -> str | None:
    """None where it is not given. FilterError."""
    value = request.query_params.get(field, "").strip()
    if value and value not in allowed:
        raise refusal(field, ", ".join(allowed), visit_of(request).language)
    return value or None


def mark_of(request: Request, parse: Callable[[str], Mark | None]) -> Mark | None:
    """Where the page before ended; None for the first page. FilterError."""
    value = request.query_params.get("after", "").strip()
    if not value:
        return None
    mark = parse(value)
    if mark is None or (isinstance(mark, MomentMark) and mark.at.year not in YEARS):
        language = visit_of(request).language
        raise refusal("after", language.gettext("what a link to the next page says"), language)
    return mark
