"""The list of turns of a selection, newest first: numbers and references, each with its outcome."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from app.cache_outcomes import Group, Outcome
from app.conversations.paging import MomentMark
from app.reports.turn_list import TurnFilter
from app.web.languages import Language
from app.web.operator.filters import LONGEST_NAME, filters_of, refusal
from app.web.operator.frame import SelectField, frame_of
from app.web.operator.listed_words import state_names
from app.web.operator.lists import choice_of, mark_of
from app.web.operator.turn_rows import rows_of
from app.web.operator_pages import operator_of
from app.web.outcome_words import group_words, outcome_words
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of

PAGE_LENGTH: Final = 50


async def turns(request: Request) -> Response:
    operator_of(request)
    filters, language = filters_of(request), visit_of(request).language
    narrowed = turn_filter_of(request)
    after = mark_of(request, MomentMark.parse)
    overviews = house_of(request).overviews
    errors = [each.error_type for each in await overviews.errors(filters.selection)]
    own = _own_fields(narrowed, errors, language)
    kept = {field.name: field.chosen or None for field in own}
    page = await overviews.turns(
        filters.selection,
        outcome=narrowed.outcome,
        group=narrowed.group,
        status=narrowed.status,
        error_type=narrowed.error_type,
        after=after,
        limit=PAGE_LENGTH,
    )
    return pages_of(request).response(
        request,
        "operator/turns.html",
        **await frame_of(request, filters, own),
        rows=rows_of(page.rows, filters, language),
        words=None if narrowed.outcome is None else outcome_words(narrowed.outcome, language),
        first=filters.query(**kept) if after else None,
        following=filters.query(**kept, after=page.after) if page.after else None,
    )


def turn_filter_of(request: Request) -> TurnFilter:
    """FilterError."""
    outcome = choice_of(request, "outcome", list(Outcome))
    group = choice_of(request, "group", list(Group))
    error = request.query_params.get("error", "").strip()
    if len(error) > LONGEST_NAME or not error.isprintable():
        language = visit_of(request).language
        raise refusal("error", language.gettext("a name of at most %(n)s characters", n=LONGEST_NAME), language)
    return TurnFilter(
        outcome=None if outcome is None else Outcome(outcome),
        group=None if group is None else Group(group),
        status=choice_of(request, "status", list(state_names(visit_of(request).language))),
        error_type=error or None,
    )


def _own_fields(narrowed: TurnFilter, errors: list[str], language: Language) -> tuple[SelectField, ...]:
    every = ("", language.gettext("all"))
    outcomes = [(each.value, outcome_words(each, language).name) for each in Outcome]
    groups = [(each.value, group_words(each, language)) for each in Group]
    error = narrowed.error_type or ""
    known = dict.fromkeys([*errors, error] if error else errors)
    return (
        SelectField("outcome", language.gettext("Outcome"), (every, *outcomes), narrowed.outcome or ""),
        SelectField("group", language.gettext("Group of outcomes"), (every, *groups), narrowed.group or ""),
        SelectField(
            "status", language.gettext("State"), (every, *state_names(language).items()), narrowed.status or ""
        ),
        SelectField("error", language.gettext("Error"), (every, *((each, each) for each in known)), error),
    )
