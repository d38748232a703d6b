"""The operator's overview: whether anything was lost, why, what it cost and what to do about it."""

from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from app.house import House
from app.reports.overview import ErrorCount, LiveTurns, Problems, RankedConversation, Selection, Series, Tiles
from app.web.languages import Language
from app.web.operator import backend_rows, conversation_rows, problem_rows, series_words
from app.web.operator.backend_rows import BackendState
from app.web.operator.backend_states import cache_states, speeds_of
from app.web.operator.costs import Speeds, cost_of, seconds_words
from app.web.operator.evidence import Facts
from app.web.operator.filters import Filters, filters_of
from app.web.operator.frame import frame_of
from app.web.operator.series_chart import series_chart
from app.web.operator.tile_words import first_token_tile, state_counts, tiles_of, time_rows
from app.web.operator.times import short_moment
from app.web.operator.verdict import verdict_of
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of

WORST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Look:
    """All that one view of the overview has read."""

    tiles: Tiles
    before: Tiles | None
    live: LiveTurns
    problems: Problems
    series: Series
    worst: tuple[RankedConversation, ...]
    errors: tuple[ErrorCount, ...]
    backends: tuple[BackendState, ...]
    speeds: Speeds


async def overview(request: Request) -> Response:
    operator_of(request)
    filters = filters_of(request)
    look = await _look(house_of(request), filters)
    values = await frame_of(request, filters, compares=True)
    values |= _words(look, filters, visit_of(request).language)
    return pages_of(request).response(request, "operator/overview.html", **values)


async def _look(house: House, filters: Filters) -> Look:
    """One short read after the other; nothing of the database is held while backends are asked."""
    selection, overviews = filters.selection, house.overviews
    before = selection.before if filters.compare else None
    problems = await overviews.problems(selection, house.clock())
    names = {row.key.backend for group in (problems.faults, problems.on_purpose, problems.rounding) for row in group}
    ranking = await overviews.ranking(selection, "lost", limit=WORST_SHOWN)
    return Look(
        tiles=await overviews.tiles(selection),
        before=None if before is None else await overviews.tiles(before),
        live=await overviews.running_and_queued(),
        problems=problems,
        series=await overviews.series(selection, ZoneInfo(filters.zone)),
        worst=tuple(row for row in ranking.rows if row.lost.tokens),
        errors=tuple(await overviews.errors(selection)),
        backends=await backends_of(house, selection),
        speeds=await speeds_of(house, names),
    )


async def backends_of(house: House, selection: Selection) -> tuple[BackendState, ...]:
    """Those of the settings that the selection does not leave out."""
    caches = await cache_states(house.backends)
    chosen = [each for each in house.backends.all if selection.backend in (None, each.name)]
    return tuple(
        [
            BackendState(
                each.settings,
                each.away,
                await house.overviews.totals(replace(selection, backend=each.name)),
                caches.get(each.name),
            )
            for each in chosen
        ]
    )


def _words(look: Look, filters: Filters, language: Language) -> dict[str, Any]:
    problems, zone, marks = look.problems, filters.zone, look.series.marks
    facts = Facts(
        marks,
        {each.settings.name: each.settings for each in look.backends},
        {each.settings.name: each.cache for each in look.backends if each.cache is not None},
    )

    def rows(group: str) -> tuple[problem_rows.ProblemRow, ...]:
        return problem_rows.rows_of(getattr(problems, group), facts, look.speeds, filters, language)

    cost = cost_of(problems.faults, look.speeds)
    chart = series_chart(look.series, ZoneInfo(zone))
    return {
        "tiles_read": look.tiles,
        "verdict": verdict_of(look.tiles, problems.faults, look.speeds, language),
        "problems": rows("faults"),
        "folded": [
            (name, rows(name), language.number(sum(each.lost_tokens for each in getattr(problems, name))))
            for name in ("on_purpose", "rounding")
        ],
        "cost_words": seconds_words(cost, language),
        "tiles": tiles_of(look.tiles, look.before, cost, language),
        "first_token": first_token_tile(look.tiles, look.before, language),
        "times": time_rows(look.tiles, language),
        "states": state_counts(look.tiles, language),
        "turns_before": None if look.before is None else language.number(look.before.turns),
        "live": look.live,
        "chart": chart,
        "ticks": series_words.tick_words(look.series, chart.ticks, zone, language),
        "layers": series_words.layer_words(language),
        "step": series_words.step_words(look.series.step, language),
        "series": series_words.rows_of(look.series.buckets, zone, language),
        "series_sum": series_words.sums_of(look.series.buckets, language),
        "marks": [series_words.mark_words(each, zone, language) for each in marks],
        "placed": [series_words.mark_words(each.mark, zone, language) for each in chart.marks],
        "worst": conversation_rows.rows_of(look.worst, filters, language, "lost"),
        "backends": backend_rows.rows_of(look.backends, marks, zone, language),
        "errors": [(each, short_moment(each.last_seen, zone, language)) for each in look.errors],
    }
