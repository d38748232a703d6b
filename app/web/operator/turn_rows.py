"""Rows of the list of turns in words; a number, "not reported" and "pending" stay three things; pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.cache_outcomes import Group, Outcome
from app.reports.overview import ListedTurn
from app.web.languages import Language
from app.web.operator.filters import Filters
from app.web.operator.listed_words import NONE, kind_names, state_names
from app.web.operator.times import short_moment
from app.web.outcome_words import OutcomeWords, outcome_words


@dataclass(frozen=True, slots=True)
class ListedRow:
    """`conversation` is None where its turn has outlived it; `missed` says of what group the shortfall is."""

    link: str
    at: str
    conversation: str | None
    reference: str
    owner: str
    kind: str
    state: str
    words: OutcomeWords
    missed: str
    prompt: str
    cached: str
    expected: str
    shortfall: str
    first_token: str
    backend: str
    model: str


def rows_of(turns: Iterable[ListedTurn], filters: Filters, language: Language) -> tuple[ListedRow, ...]:
    kinds, states = kind_names(language), state_names(language)
    return tuple(_row(turn, filters, language, kinds, states) for turn in turns)


def _row(
    turn: ListedTurn, filters: Filters, language: Language, kinds: dict[str, str], states: dict[str, str]
) -> ListedRow:
    query = filters.query()

    def reported(tokens: int | None) -> str:
        return _absence(turn, language) if tokens is None else language.number(tokens)

    def known(tokens: int | None) -> str:
        return NONE if tokens is None else language.number(tokens)

    conversation = None if turn.reference is None else f"/operator/conversations/{turn.conversation_id}?{query}"
    return ListedRow(
        link=f"/operator/turns/{turn.id}?{query}",
        at=short_moment(turn.created_at, filters.zone, language),
        conversation=conversation,
        reference=turn.reference or NONE,
        owner=turn.owner_name or NONE,
        kind=kinds[turn.kind],
        state=states[turn.status],
        words=outcome_words(turn.outcome, language),
        missed=_missed(turn.outcome.group),
        prompt=reported(turn.prompt_tokens),
        cached=reported(turn.cached_tokens),
        expected=_expected(turn, language),
        shortfall=known(turn.shortfall_tokens),
        first_token=NONE if turn.first_token_ms is None else language.seconds(turn.first_token_ms),
        backend=turn.backend or NONE,
        model=turn.model or NONE,
    )


def _absence(turn: ListedTurn, language: Language) -> str:
    if turn.outcome is Outcome.PENDING:
        return language.gettext("pending")
    if turn.outcome is Outcome.NOT_SENT:
        return language.gettext("not sent")
    return language.gettext("not reported")


def _expected(turn: ListedTurn, language: Language) -> str:
    if turn.expected_tokens is None:
        return NONE
    sign = "≥ " if turn.expected_is_minimum else ""
    return sign + language.number(turn.expected_tokens)


def _missed(group: Group) -> str:
    """The chart's layer that the shortfall of such a turn is in; empty where nothing is missed."""
    if group in (Group.DEPLOYMENT, Group.REQUEST, Group.CAPACITY):
        return "lost"
    if group is Group.ON_PURPOSE:
        return "on-purpose"
    return "rounding" if group in (Group.GRANULARITY, Group.UNKNOWN) else ""
