"""What is counted of turns that have ended, as SQL: amounts that add up, by backend, model, end state and outcome.

Turns whose rows go leave their amounts in `removed_turns`, so that no total ever falls.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.models import RemovedTurns, Turn
from app.reports.measures import CACHED, COMPUTED, COUNTED, EXPECTED, LOST, ON_PURPOSE_TOKENS, PROMPT, ROUNDING

BOUNDS_MS: Final = (50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 120_000)
"""Upper bounds of the histograms."""
TIMES: Final[Mapping[str, InstrumentedAttribute[int | None]]] = {
    "queued": Turn.queued_ms,
    "prefill": Turn.prefill_ms,
    "first_token": Turn.time_to_first_token_ms,
    "duration": Turn.duration_ms,
}
_GROUP: Final = (Turn.backend, Turn.model, Turn.status, Turn.outcome)


@dataclass(frozen=True, slots=True)
class TurnGroup:
    """Turns that are counted together. What is not known of them is empty."""

    backend: str
    model: str
    status: str
    outcome: str


Counts = dict[TurnGroup, Counter[str]]
"""Amounts by the names of measures: whole numbers of turns, tokens or milliseconds."""


def at_most(time: str, bound_ms: int) -> str:
    """The measure that counts turns whose `time` took no longer."""
    return f"{time}_at_most_{bound_ms}"


def _measures() -> dict[str, ColumnElement[Any]]:
    """Cached, new, on purpose, lost and rounding add up to the prompt tokens of the turns that have ended."""
    missed = [func.coalesce(layer, 0) for layer in (ON_PURPOSE_TOKENS, LOST, ROUNDING)]
    measures: dict[str, ColumnElement[Any]] = {
        "turns": func.count(),
        "reported_turns": func.count(PROMPT),
        "law_mismatches": func.count().filter(Turn.law_mismatch.is_(True)),
        "prompt_tokens": func.sum(PROMPT),
        "cached_tokens": func.sum(CACHED),
        "computed_tokens": func.sum(COMPUTED),
        "new_tokens": func.sum(COMPUTED - sum(missed)),
        "lost_tokens": func.sum(LOST),
        "on_purpose_tokens": func.sum(ON_PURPOSE_TOKENS),
        "rounding_tokens": func.sum(ROUNDING),
        "expected_tokens": func.sum(EXPECTED),
        "output_tokens": func.sum(Turn.output_tokens),
    }
    for name, column in TIMES.items():
        measures[name] = func.count(column)
        measures[f"{name}_ms"] = func.sum(column)
        measures |= {at_most(name, bound): func.count().filter(column <= bound) for bound in BOUNDS_MS}
    return measures


_MEASURES: Final = _measures()


async def count_turns(session: AsyncSession, *conditions: ColumnElement[bool]) -> Counts:
    """Of the turns that meet all conditions; also of live ones, which have no outcome yet."""
    query: Select[Any] = select(*_GROUP, *_MEASURES.values()).where(COUNTED, *conditions).group_by(*_GROUP)
    counts: Counts = {}
    for backend, model, status, outcome, *amounts in await session.execute(query):
        group = TurnGroup(backend or "", model or "", status, outcome or "")
        # A sum of integers may come as a decimal, and as NULL where there was nothing to add.
        named = zip(_MEASURES, amounts, strict=True)
        counts[group] = Counter({name: int(amount) for name, amount in named if amount})
    return counts


async def removed_counts(session: AsyncSession) -> Counts:
    counts: Counts = {}
    for row in await session.scalars(select(RemovedTurns)):
        group = TurnGroup(row.backend, row.model, row.status, row.outcome)
        counts.setdefault(group, Counter())[row.measure] = row.amount
    return counts


async def keep_counts(session: AsyncSession, turn_ids: Sequence[UUID]) -> None:
    """To be called in the transaction that deletes these turns. Two processes at once: one fails, and tries again."""
    for group, amounts in (await count_turns(session, Turn.id.in_(turn_ids))).items():
        for measure, amount in amounts.items():
            await _add(session, {**asdict(group), "measure": measure}, amount)


async def _add(session: AsyncSession, key: Mapping[str, str], amount: int) -> None:
    kept = await session.get(RemovedTurns, tuple(key.values()), with_for_update=True)
    if kept is None:
        session.add(RemovedTurns(**key, amount=amount))
    else:
        kept.amount += amount
