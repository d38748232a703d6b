"""What lost tokens cost: the seconds of prefill that they took, by the measured speed of their backend; pure.

Where no speed was measured there are no seconds, and never 0 of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.reports.overview import Problem
from app.web.languages import Language
from app.web.operator.times import length_words

Speeds = Mapping[str, float]
"""Tokens per second of prefill, by the backend's name; without those that were not measured lately."""


@dataclass(frozen=True, slots=True)
class Cost:
    """`seconds` is None where no speed is known, and `whole` says whether it covers all of the `tokens`."""

    tokens: int
    seconds: float | None
    whole: bool


def cost_of(problems: Iterable[Problem], speeds: Speeds) -> Cost:
    rows = list(problems)
    speed_of = {row: speeds.get(row.key.backend or "") for row in rows}
    measured = [(row.lost_tokens, speed) for row, speed in speed_of.items() if speed is not None]
    seconds = sum(tokens / speed for tokens, speed in measured) if measured else None
    return Cost(sum(row.lost_tokens for row in rows), seconds, len(measured) == len(rows))


def seconds_words(cost: Cost, language: Language) -> str | None:
    if cost.seconds is None or not cost.tokens:
        return None
    length = length_words(cost.seconds, language)
    if cost.whole and cost.seconds < 1:
        return length
    if cost.whole:
        return language.gettext("about %(time)s", time=length)
    return language.gettext("at least %(time)s", time=length)
