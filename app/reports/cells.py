"""The sums that tiles and series are made of: over a whole selection, or over each step of time in it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, func, literal_column, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.cache_outcomes import Outcome
from app.models import Turn
from app.reports.measures import ACHIEVED, CACHED, EXPECTED, LOST, ON_PURPOSE_TOKENS, PROMPT, ROUNDING, chosen
from app.reports.overview import Selection
from app.reports.percentiles import bucketed

STATES: Final = ("queued", "running", "completed", "stopped", "interrupted", "failed")
TIMES: Final[Mapping[str, InstrumentedAttribute[int | None]]] = {
    "total": Turn.time_to_first_token_ms,
    "queued": Turn.queued_ms,
    "admission": Turn.admission_ms,
    "prefill": Turn.prefill_ms,
}
_COULD_MISS = Turn.outcome.is_not(None) & (Turn.outcome != Outcome.FIRST_TURN) & Turn.shortfall_tokens.is_not(None)
_SUMS: Final[Mapping[str, ColumnElement[Any]]] = {
    "turns": func.count(),
    "prompt": func.sum(PROMPT),
    "cached": func.sum(CACHED),
    "on_purpose": func.sum(ON_PURPOSE_TOKENS),
    "lost": func.sum(LOST),
    "lost_known": func.count(LOST),
    "losing": func.count().filter(LOST > 0),
    "rounding": func.sum(ROUNDING),
    "achieved": func.sum(ACHIEVED),
    "expected": func.sum(EXPECTED),
    "expected_known": func.count(EXPECTED),
    "could_miss": func.count().filter(_COULD_MISS),
    "hits": func.count().filter(_COULD_MISS, Turn.shortfall_tokens == 0),
    "law_mismatches": func.count().filter(Turn.law_mismatch.is_(True)),
    **{state: func.count().filter(Turn.status == state) for state in STATES},
}
# How often each time was seen, by the lowest time of its bucket.
Times = Counter[int]


@dataclass(slots=True)
class Cell:
    """`sums` by the names above, `times` by those of `TIMES`; what nobody has is 0 there and absent here."""

    sums: Counter[str] = field(default_factory=Counter)
    times: defaultdict[str, Times] = field(default_factory=lambda: defaultdict(Counter))


Cells = defaultdict[int, Cell]


async def read_cells(
    session: AsyncSession,
    selection: Selection,
    names: Iterable[str],
    slot: ColumnElement[int] | None = None,
    *,
    exact: bool,
) -> Cells:
    """By the value of `slot`, or all in number 0; with those of the times that are named."""
    cells: Cells = defaultdict(Cell)
    # Without slots nothing is grouped: SQLite would sort every turn for it.
    number = literal_column("0") if slot is None else slot
    query = select(number.label("slot"), *_SUMS.values()).where(*chosen(selection))
    if slot is not None:
        query = query.group_by("slot")
    for place, *sums in await session.execute(query):
        # A database's sum of integers may be a decimal, and is NULL without any.
        cells[place].sums.update({name: int(value or 0) for name, value in zip(_SUMS, sums, strict=True)})
    each: list[Select[Any]] = [
        select(
            number.label("slot"),
            literal_column(f"'{name}'").label("name"),
            bucketed(TIMES[name], exact=exact).label("lowest"),
            func.count(),
        )
        .where(TIMES[name].is_not(None), *chosen(selection))
        .group_by(*(["lowest"] if slot is None else ["slot", "lowest"]))
        for name in names
    ]
    for place, name, lowest, turns in await session.execute(union_all(*each)):
        cells[place].times[name][lowest] += turns
    return cells
