"""All that one view of the overview reads, from SQL and from the backends themselves. It knows no words."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from app.house import House
from app.reports.overview import ErrorCount, LiveTurns, Problems, RankedConversation, Selection, Series, Tiles
from app.web.operator.backend_rows import BackendState
from app.web.operator.backend_states import cache_states, speeds_of
from app.web.operator.costs import Speeds
from app.web.operator.filters import Filters

WORST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Look:
    """`before` is None where nothing is compared; `worst` are conversations that lost something."""

    tiles: Tiles
    before: Tiles | None
    live: LiveTurns
    problems: Problems
    series: Series
    worst: tuple[RankedConversation, ...]
    errors: tuple[ErrorCount, ...]
    backends: tuple[BackendState, ...]
    speeds: Speeds


async def look_at(house: House, filters: Filters) -> Look:
    """One short read after the other; nothing of the database is held while backends are asked."""
    selection, overviews = filters.selection, house.overviews
    before = selection.before if filters.compare else None
    tiles, series = await overviews.tiles_and_series(selection, ZoneInfo(filters.zone))
    problems = await overviews.problems(selection, house.clock())
    rows = (*problems.faults, *problems.on_purpose, *problems.rounding)
    ranking = await overviews.ranking(selection, "lost", limit=WORST_SHOWN)
    return Look(
        tiles=tiles,
        before=None if before is None else await overviews.tiles(before),
        live=await overviews.running_and_queued(),
        problems=problems,
        series=series,
        worst=tuple(row for row in ranking.rows if row.lost.tokens),
        errors=tuple(await overviews.errors(selection)),
        backends=await backends_of(house, selection),
        speeds=await speeds_of(house, {row.key.backend for row in rows}),
    )


async def backends_of(house: House, selection: Selection) -> tuple[BackendState, ...]:
    """Those of the settings that the selection does not leave out."""
    shown = [each for each in house.backends.all if selection.backend in (None, each.name)]
    totals = await house.overviews.totals(selection, [each.name for each in shown])
    caches = await cache_states(house.backends)
    return tuple(BackendState(each.settings, each.away, totals[each.name], caches.get(each.name)) for each in shown)
