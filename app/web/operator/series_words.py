"""The chart's words, and the table that holds the same numbers; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.reports.overview import Bucket, Mark, Series
from app.serving_events import SERVER_START
from app.web.languages import Language
from app.web.operator.listed_words import NONE
from app.web.operator.series_chart import Layer, Tick, layers_of
from app.web.operator.times import clock_time, short_day, short_moment


@dataclass(frozen=True, slots=True)
class SeriesRow:
    start: str
    turns: str
    layers: tuple[tuple[Layer, str], ...]
    prompt: str
    p50: str
    p95: str


@dataclass(frozen=True, slots=True)
class MarkWords:
    kind: str
    at: str
    words: str


def layer_words(language: Language) -> dict[Layer, str]:
    return {
        "cached": language.gettext("from cache"),
        "new": language.gettext("new"),
        "on-purpose": language.gettext("on purpose"),
        "lost": language.gettext("lost"),
        "rounding": language.gettext("rounding"),
    }


def rows_of(buckets: Sequence[Bucket], zone: str, language: Language) -> tuple[SeriesRow, ...]:
    return tuple(
        SeriesRow(
            short_moment(each.start, zone, language),
            language.number(each.turns),
            tuple((layer, language.number(tokens)) for layer, tokens in layers_of(each)),
            language.number(sum(tokens for _, tokens in layers_of(each))),
            _time(each.first_token_p50_ms, language),
            _time(each.first_token_p95_ms, language),
        )
        for each in buckets
    )


def sums_of(buckets: Sequence[Bucket], language: Language) -> SeriesRow:
    """Times have no sum."""
    layers = [layers_of(each) for each in buckets]
    totals = [(layer, sum(row[place][1] for row in layers)) for place, layer in enumerate(layer_words(language))]
    return SeriesRow(
        language.gettext("Sum"),
        language.number(sum(each.turns for each in buckets)),
        tuple((layer, language.number(tokens)) for layer, tokens in totals),
        language.number(sum(tokens for _, tokens in totals)),
        NONE,
        NONE,
    )


def tick_words(series: Series, ticks: Sequence[Tick], zone: str, language: Language) -> tuple[str, ...]:
    """The clock; at the first one, and where the day is another one than at the tick before, the day too."""
    starts = [series.buckets[tick.place].start for tick in ticks]
    days = [short_day(start, zone, language) for start in starts]
    if series.step >= timedelta(days=1):
        return tuple(days)
    clocks = [clock_time(start, zone, language) for start in starts]
    return tuple(
        clock if day == before else day if clock == "00:00" else f"{day} {clock}"
        for day, before, clock in zip(days, ["", *days], clocks, strict=False)
    )


def step_words(step: timedelta, language: Language) -> str:
    days, minutes = step // timedelta(days=1), step // timedelta(minutes=1)
    if days:
        return language.ngettext("%(n)s day", "%(n)s days", days)
    if minutes % 60:
        return language.gettext("%(minutes)s min", minutes=language.number(minutes))
    return language.gettext("%(hours)s h", hours=language.number(minutes // 60))


def mark_words(mark: Mark, zone: str, language: Language) -> MarkWords:
    kinds = {
        SERVER_START: language.gettext("model server started"),
        "app_start": language.gettext("app started"),
        "setting_changed": language.gettext("setting changed"),
    }
    parts = (kinds.get(mark.kind, mark.kind), mark.backend, mark.detail)
    return MarkWords(mark.kind, short_moment(mark.at, zone, language), " · ".join(part for part in parts if part))


def _time(milliseconds: float | None, language: Language) -> str:
    return NONE if milliseconds is None else language.seconds(round(milliseconds))
