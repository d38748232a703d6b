"""The sums that tiles and series are made of: over a whole selection, or over each step of time in it.

Of ended days they come from `turn_sums`, where these are stored; of all others from the turns themselves.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, Select, Text, cast, func, null, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.cache_outcomes import Outcome
from app.models import LIVE_STATES, SummedDay, Turn, TurnSums
from app.reports.measures import ACHIEVED, CACHED, EXPECTED, LOST, ON_PURPOSE_TOKENS, PROMPT, ROUNDING, chosen
from app.reports.overview import Selection
from app.reports.slots import Slots
from app.reports.time_histograms import SEPARATOR, Times, count, decode

STATES: Final = ("queued", "running", "completed", "stopped", "interrupted", "failed")
TIMES: Final[Mapping[str, InstrumentedAttribute[int | None]]] = {
    "total": Turn.time_to_first_token_ms,
    "queued": Turn.queued_ms,
    "admission": Turn.admission_ms,
    "prefill": Turn.prefill_ms,
}
_COULD_MISS = Turn.outcome.is_not(None) & (Turn.outcome != Outcome.FIRST_TURN) & Turn.shortfall_tokens.is_not(None)
SUMS: Final[Mapping[str, ColumnElement[Any]]] = {
    "turns": func.count(),
    "reported": func.count(PROMPT),
    "prompt": func.sum(PROMPT),
    "cached": func.sum(CACHED),
    "output": func.sum(Turn.output_tokens),
    "output_known": func.count(Turn.output_tokens),
    "on_purpose": func.sum(ON_PURPOSE_TOKENS),
    "on_purpose_known": func.count(ON_PURPOSE_TOKENS),
    "lost": func.sum(LOST),
    "lost_known": func.count(LOST),
    "rounding": func.sum(ROUNDING),
    "rounding_known": func.count(ROUNDING),
    "losing": func.count().filter(LOST > 0),
    "achieved": func.sum(ACHIEVED),
    "expected": func.sum(EXPECTED),
    "expected_known": func.count(EXPECTED),
    "could_miss": func.count().filter(_COULD_MISS),
    "hits": func.count().filter(_COULD_MISS, Turn.shortfall_tokens == 0),
    "law_mismatches": func.count().filter(Turn.law_mismatch.is_(True)),
    **{state: func.count().filter(Turn.status == state) for state in STATES},
}
SUMS_OF_ENDED: Final = {name: sum_ for name, sum_ in SUMS.items() if name not in LIVE_STATES}
HALF_HOURS: Final = Slots(1_800)
"""What ended days are summed by: the clocks of nearly all zones are whole half hours apart."""
DAY: Final = timedelta(days=1)
TEXTS_OF_TIMES: Final = {
    name: func.aggregate_strings(cast(time, Text), SEPARATOR).label(name) for name, time in TIMES.items()
}
"""All of them behind each other: one text comes from a database far sooner than a row for each."""


@dataclass(slots=True)
class Cell:
    """`sums` by the names above, `times` by those of `TIMES`; what nobody has is 0 there and absent here."""

    sums: Counter[str] = field(default_factory=Counter)
    times: defaultdict[str, Times] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, other: "Cell") -> None:
        self.sums.update(other.sums)
        for name, times in other.times.items():
            self.times[name].update(times)


Groups = Slots | Literal["backends"] | None
"""By steps of time, by backends ('' is none), or all in one."""


async def read_cells(
    session: AsyncSession,
    selection: Selection,
    groups: Groups = None,
    *,
    times: Collection[str] = tuple(TIMES),
    exact: bool,
) -> defaultdict[Any, Cell]:
    """By the number of the step, the backend, or None. `exact` is said of the times that are named; sums always are."""
    cells: defaultdict[Any, Cell] = defaultdict(Cell)
    days = () if exact else await _stored_days(session, selection, groups)
    for part in _between(selection, days):
        columns = (*SUMS.values(), *(TEXTS_OF_TIMES[name] for name in times))
        query = _grouped(select(_group(groups, Turn), *columns).where(*chosen(part)), groups)
        for group, *values in await session.execute(query):
            _add(cells[group], SUMS, times, values, lambda text: count(text, exact=exact))
    if days:
        sums = [func.sum(getattr(TurnSums, name)) for name in SUMS_OF_ENDED]
        histograms = [func.aggregate_strings(getattr(TurnSums, f"{name}_times"), "") for name in times]
        query = select(_group(groups, TurnSums), *sums, *histograms).where(*_chosen_of_stored(selection))
        for group, *values in await session.execute(_grouped(query, groups)):
            _add(cells[group], SUMS_OF_ENDED, times, values, decode)
    return cells


def _add(
    cell: Cell, sums: Collection[str], times: Collection[str], values: Sequence[Any], read: Callable[[str], Times]
) -> None:
    """`values` are the sums that are named, and behind them a text for each of the times."""
    # A database's sum of integers may be a decimal, and is NULL without any.
    cell.sums.update({name: int(value or 0) for name, value in zip(sums, values, strict=False)})
    for name, text in zip(times, values[len(sums) :], strict=True):
        if text:
            cell.times[name].update(read(text))


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _group(groups: Groups, of: type[Turn] | type[TurnSums]) -> ColumnElement[Any]:
    group: ColumnElement[Any] = null()
    if groups == "backends":
        group = func.coalesce(of.backend, "")
    elif groups is not None:
        group = groups.number_of(Turn.created_at if of is Turn else TurnSums.start)
    return group.label("in_group")


def _grouped(query: Select[Any], groups: Groups) -> Select[Any]:
    # All in one are not grouped: SQLite would sort every turn for it.
    return query if groups is None else query.group_by("in_group")


async def _stored_days(session: AsyncSession, selection: Selection, groups: Groups) -> Sequence[date]:
    """Days whose sums can be read in place of their turns."""
    if selection.owner_id is not None or (isinstance(groups, Slots) and not groups.consist_of(HALF_HOURS)):
        return ()
    inside = _lies_in(selection, SummedDay.day)
    return (await session.scalars(select(SummedDay.day).where(*inside).order_by(SummedDay.day))).all()


def _lies_in(selection: Selection, day: InstrumentedAttribute[date]) -> list[ColumnElement[bool]]:
    """The conditions of days that lie in it as a whole."""
    conditions = [day < selection.until.astimezone(UTC).date()]
    if selection.since is not None:
        conditions.append(day >= (selection.since.astimezone(UTC) + DAY - timedelta.resolution).date())
    return conditions


def _between(selection: Selection, days: Sequence[date]) -> Iterator[Selection]:
    """What is left of the selection without these days, which lie in it one after the other."""
    since = selection.since
    for day in days:
        if since is None or since < midnight(day):
            yield replace(selection, since=since, until=midnight(day))
        since = midnight(day) + DAY
    if since is None or since < selection.until:
        yield replace(selection, since=since)


def _chosen_of_stored(selection: Selection) -> list[ColumnElement[bool]]:
    conditions = _lies_in(selection, TurnSums.day)
    if selection.backend is not None:
        conditions.append(TurnSums.backend == selection.backend)
    if selection.model is not None:
        conditions.append(TurnSums.model == selection.model)
    return conditions
