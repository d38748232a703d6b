"""All that one view of the overview reads, from SQL and from the backends themselves. It knows no words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from app.house import House
from app.reports.overview import Overview, Selection, Totals
from app.turns.backends import ServingBackend
from app.web.operator.backend_rows import BackendState
from app.web.operator.backend_states import cache_states, speeds_of
from app.web.operator.costs import Speeds
from app.web.operator.filters import Filters


@dataclass(frozen=True, slots=True)
class Look:
    overview: Overview
    backends: tuple[BackendState, ...]
    speeds: Speeds


async def look_at(house: House, filters: Filters) -> Look:
    """Nothing of the database is held while backends are asked."""
    selection, shown = filters.selection, _shown(house, filters.selection)
    overview = await house.overviews.overview(
        selection,
        ZoneInfo(filters.zone),
        house.clock(),
        [each.name for each in shown],
        before=selection.before if filters.compare else None,
    )
    problems = overview.problems
    rows = (*problems.faults, *problems.on_purpose, *problems.rounding)
    speeds = await speeds_of(house, {row.key.backend for row in rows})
    return Look(overview, await _states(house, shown, overview.totals), speeds)


async def backends_of(house: House, selection: Selection) -> tuple[BackendState, ...]:
    """Those of the settings that the selection does not leave out."""
    shown = _shown(house, selection)
    return await _states(house, shown, await house.overviews.totals(selection, [each.name for each in shown]))


def _shown(house: House, selection: Selection) -> list[ServingBackend]:
    return [each for each in house.backends.all if selection.backend in (None, each.name)]


async def _states(
    house: House, shown: Sequence[ServingBackend], totals: Mapping[str, Totals]
) -> tuple[BackendState, ...]:
    caches = await cache_states(house.backends)
    return tuple(BackendState(each.settings, each.away, totals[each.name], caches.get(each.name)) for each in shown)
