"""One look at the overview as its template shows it, in the reader's language; pure."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from app.reports.overview import Problem, Series
from app.web.languages import Language
from app.web.operator import backend_rows, conversation_rows, series_words
from app.web.operator.costs import cost_of
from app.web.operator.evidence import Facts
from app.web.operator.filters import Filters
from app.web.operator.overview_look import Look
from app.web.operator.problem_rows import ProblemRow, rows_of
from app.web.operator.series_chart import series_chart
from app.web.operator.tile_words import first_token_tile, state_counts, tiles_of, time_rows
from app.web.operator.times import short_moment
from app.web.operator.verdict import verdict_of


def words_of(look: Look, filters: Filters, language: Language) -> dict[str, Any]:
    read = look.overview
    zone, marks, faults = filters.zone, read.series.marks, read.problems.faults
    return {
        "tiles_read": read.tiles,
        "verdict": verdict_of(read.tiles, faults, look.speeds, language),
        "problems": _problems(look, faults, filters, language),
        "folded": [
            (name, _problems(look, rows, filters, language), language.number(sum(row.lost_tokens for row in rows)))
            for name, rows in (("on_purpose", read.problems.on_purpose), ("rounding", read.problems.rounding))
        ],
        "tiles": tiles_of(read.tiles, read.before, cost_of(faults, look.speeds), language),
        "first_token": first_token_tile(read.tiles, read.before, language),
        "times": time_rows(read.tiles, language),
        "states": state_counts(read.tiles, language),
        "turns_before": None if read.before is None else language.number(read.before.turns),
        "live": read.live,
        "worst": conversation_rows.rows_of(read.worst, filters, language, "lost"),
        "backends": backend_rows.rows_of(look.backends, marks, zone, language),
        "errors": [(each, short_moment(each.last_seen, zone, language)) for each in read.errors],
        **_series(read.series, zone, language),
    }


def _problems(look: Look, problems: Sequence[Problem], filters: Filters, language: Language) -> tuple[ProblemRow, ...]:
    settings = {each.settings.name: each.settings for each in look.backends}
    caches = {each.settings.name: each.cache for each in look.backends if each.cache is not None}
    return rows_of(problems, Facts(look.overview.series.marks, settings, caches), look.speeds, filters, language)


def _series(series: Series, zone: str, language: Language) -> dict[str, Any]:
    """`placed` are the words of the marks that the chart shows, in its order."""
    chart = series_chart(series, ZoneInfo(zone))
    return {
        "chart": chart,
        "ticks": series_words.tick_words(series, chart.ticks, zone, language),
        "layers": series_words.layer_words(language),
        "step": series_words.step_words(series.step, language),
        "series": series_words.rows_of(series.buckets, zone, language),
        "series_sum": series_words.sums_of(series.buckets, language),
        "marks": [series_words.mark_words(each, zone, language) for each in series.marks],
        "placed": [series_words.mark_words(each.mark, zone, language) for each in chart.marks],
    }
