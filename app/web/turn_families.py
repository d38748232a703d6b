"""The totals of all turns as Prometheus families. Labels name backends, models and states, never persons."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from app.cache_outcomes import FAULTS, ON_PURPOSE, Outcome
from app.reports.turn_counters import Counted
from app.reports.turn_counts import BOUNDS_MS, Counts, TurnGroup, at_most

Labels = tuple[str, ...]
SERVED: Final = ("backend", "model")
_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class _Sum:
    """One counter: which amount of the groups it adds up, and which parts of a group are its labels."""

    name: str
    measure: str
    text: str
    labels: Labels = SERVED


SUMS: Final = (
    _Sum("recount_turns", "turns", "Turns that have ended.", (*SERVED, "status", "outcome")),
    _Sum("recount_reported_turns", "reported_turns", "Ended turns whose prompt tokens were reported."),
    _Sum("recount_prompt_tokens", "prompt_tokens", "Prompt tokens of the reported turns."),
    _Sum("recount_cached_tokens", "cached_tokens", "Prompt tokens that were read from the prefix cache."),
    _Sum("recount_computed_tokens", "computed_tokens", "Prompt tokens that were computed."),
    _Sum("recount_new_tokens", "new_tokens", "Computed prompt tokens that no cache was expected to have."),
    _Sum("recount_rounding_tokens", "rounding_tokens", "Computed again without a fault: whole blocks, or unknown."),
    _Sum("recount_expected_tokens", "expected_tokens", "Prompt tokens that should have been in the cache."),
    _Sum("recount_output_tokens", "output_tokens", "Tokens that were written."),
    _Sum("recount_law_mismatches", "law_mismatches", "Turns whose server promised something else than the cache law."),
)
LOST: Final = _Sum("recount_lost_tokens", "lost_tokens", "Computed again because of a fault.", (*SERVED, "outcome"))
FAULTY: Final = _Sum("recount_fault_turns", "turns", "Ended turns whose outcome is a fault.", (*SERVED, "outcome"))
MEANT: Final = _Sum(
    "recount_on_purpose_tokens", "on_purpose_tokens", "Computed again on purpose.", (*SERVED, "outcome")
)
HISTOGRAMS: Final = (
    ("recount_time_to_first_token_seconds", "first_token", "From the acceptance of a turn to its first text."),
    ("recount_queued_seconds", "queued", "From the acceptance of a turn to its request to the backend."),
    ("recount_prefill_seconds", "prefill", "From the backend's first word to the first text."),
    ("recount_turn_duration_seconds", "duration", "From the acceptance of a turn to its end."),
)


class TurnFamilies(Collector):
    """The families of one moment."""

    def __init__(self, counted: Counted) -> None:
        self._counted = counted

    def collect(self) -> Iterable[Metric]:
        ended = self._counted.ended
        for each in SUMS:
            yield _counter(each, ended)
        # A counter that shows itself only with its first fault has not risen, as far as an alert can see.
        yield _counter(LOST, _with_zeros(ended, FAULTS))
        yield _counter(FAULTY, _with_zeros(ended, FAULTS))
        yield _counter(MEANT, _with_zeros(ended, ON_PURPOSE))
        for name, time, text in HISTOGRAMS:
            yield _histogram(name, time, text, ended)
        live = GaugeMetricFamily(
            "recount_live_turns", "Turns that have not ended, of all processes.", labels=["status"]
        )
        for status, turns in self._counted.live.items():
            live.add_metric([status], turns)
        yield live


def _with_zeros(counts: Counts, outcomes: Iterable[Outcome]) -> Counts:
    """Only groups of these outcomes, and each of them for each backend and model."""
    wanted = sorted(outcomes)
    served = {(group.backend, group.model) for group in counts}
    zeros = {TurnGroup(*each, "", outcome): Counter[str]() for each in served for outcome in wanted}
    return {**zeros, **{group: amounts for group, amounts in counts.items() if group.outcome in wanted}}


def _by(labels: Labels, counts: Counts) -> dict[tuple[str, ...], Counter[str]]:
    found: dict[tuple[str, ...], Counter[str]] = {}
    for group, amounts in counts.items():
        values = tuple(str(getattr(group, label)) for label in labels)
        found.setdefault(values, Counter()).update(amounts)
    return found


def _counter(wanted: _Sum, counts: Counts) -> CounterMetricFamily:
    family = CounterMetricFamily(wanted.name, wanted.text, labels=wanted.labels)
    for values, amounts in sorted(_by(wanted.labels, counts).items()):
        family.add_metric(values, amounts[wanted.measure])
    return family


def _histogram(name: str, time: str, text: str, counts: Counts) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, text, labels=SERVED)
    for values, amounts in sorted(_by(SERVED, counts).items()):
        buckets = [(str(bound / _MS), float(amounts[at_most(time, bound)])) for bound in BOUNDS_MS]
        buckets.append(("+Inf", float(amounts[time])))
        family.add_metric(values, buckets, amounts[f"{time}_ms"] / _MS)
    return family
