"""Rows of the ranking of conversations in words: references and numbers, never titles; pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from app.reports.overview import RankedConversation, Sum
from app.web.languages import Language
from app.web.operator.filters import Filters
from app.web.operator.listed_words import NONE
from app.web.operator.tile_words import rate_words
from app.web.operator.times import short_moment
from app.web.outcome_words import outcome_words


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A coverage is empty where all turns are in the figure."""

    id: UUID
    link: str
    reference: str
    owner: str
    turns: str
    prompt: str
    cached: str
    coverage: str
    reuse: str
    lost: str
    main_cause: str
    slowest: str
    last_turn: str
    deleted: bool


def rows_of(
    ranked: Iterable[RankedConversation], filters: Filters, language: Language, sort: str
) -> tuple[ConversationRow, ...]:
    return tuple(_row(each, filters, language, sort) for each in ranked)


def _row(each: RankedConversation, filters: Filters, language: Language, sort: str) -> ConversationRow:
    slowest = each.slowest_first_token_ms
    return ConversationRow(
        id=each.id,
        link=f"/operator/conversations/{each.id}?{filters.query(sort=sort)}",
        reference=each.reference,
        owner=each.owner_name,
        turns=language.number(each.turns),
        prompt=_sum(each.prompt, language),
        cached=_cached(each, language),
        coverage=_coverage(each, language),
        reuse=rate_words(each.reuse, language),
        lost=_sum(each.lost, language),
        main_cause=NONE if each.main_cause is None else outcome_words(each.main_cause, language).name,
        slowest=NONE if slowest is None else language.seconds(slowest),
        last_turn=short_moment(each.last_turn_at, filters.zone, language),
        deleted=each.deleted,
    )


def _sum(figure: Sum, language: Language) -> str:
    return language.number(figure.tokens) if figure.turns else NONE


def _cached(each: RankedConversation, language: Language) -> str:
    if not each.cached.turns:
        return NONE
    return f"{language.number(each.cached.tokens)} ({language.percent(each.cached.tokens, each.prompt.tokens)})"


def _coverage(each: RankedConversation, language: Language) -> str:
    if each.prompt.turns == each.turns:
        return ""
    return language.gettext(
        "%(covered)s of %(all)s turns", covered=language.number(each.prompt.turns), all=language.number(each.turns)
    )
