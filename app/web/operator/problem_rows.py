"""The rows of Problems in words: what went wrong where, what it cost, what speaks for it and what to do; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.reports.overview import Problem
from app.web.languages import Language
from app.web.operator.costs import Cost, Speeds, cost_of, seconds_words
from app.web.operator.evidence import Facts, evidence_of
from app.web.operator.filters import Filters
from app.web.operator.times import short_moment
from app.web.outcome_words import OutcomeWords, outcome_words


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """`seconds` is None where the backend's speed was not measured lately. `reach`: conversations and users.

    Links keep the filters.
    """

    outcome: str
    words: OutcomeWords
    backend: str
    model: str
    is_new: bool
    ongoing: bool
    first_seen: str
    last_seen: str
    turns: str
    reach: tuple[str, ...]
    lost: str
    seconds: str | None
    evidence: tuple[str, ...]
    worst_turn: str
    all_turns: str


def rows_of(
    problems: Sequence[Problem], facts: Facts, speeds: Speeds, filters: Filters, language: Language
) -> tuple[ProblemRow, ...]:
    return tuple(_row(each, facts, cost_of([each], speeds), filters, language) for each in problems)


def _row(problem: Problem, facts: Facts, cost: Cost, filters: Filters, language: Language) -> ProblemRow:
    key = problem.key

    def moment(at: datetime) -> str:
        return short_moment(at, filters.zone, language)

    changes = {"outcome": key.outcome.value, "backend": key.backend, "model": key.model}
    return ProblemRow(
        outcome=key.outcome.value,
        words=outcome_words(key.outcome, language),
        backend=key.backend or language.gettext("unknown"),
        model=key.model or language.gettext("unknown"),
        is_new=problem.is_new,
        ongoing=problem.ongoing,
        first_seen=moment(problem.first_seen),
        last_seen=moment(problem.last_seen),
        turns=language.number(problem.turns),
        reach=(
            language.ngettext("%(n)s conversation", "%(n)s conversations", problem.conversations),
            language.ngettext("%(n)s user", "%(n)s users", problem.users),
        ),
        lost=language.number(problem.lost_tokens),
        seconds=seconds_words(cost, language),
        evidence=evidence_of(problem, facts, filters.zone, language),
        worst_turn=f"/operator/turns/{problem.worst_turn_id}?{filters.query()}",
        all_turns=f"/operator/turns?{filters.query(**changes)}",
    )
