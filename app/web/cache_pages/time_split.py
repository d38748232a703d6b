"""How a turn's time was spent, as parts of one bar and as a table; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.conversations.figures import TurnFigures

BAR_WIDTH = 1000.0

Part = Literal["queued", "admission", "prefill", "waiting", "decode"]


@dataclass(frozen=True, slots=True)
class TimePart:
    """`x` and `width` in a bar of BAR_WIDTH units. `milliseconds` is None for a part that is not told apart."""

    name: Part
    milliseconds: int | None
    x: float = 0.0
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """`parts` lie in the bar one behind the other; `waiting` stands for what a backend does not tell apart."""

    parts: tuple[TimePart, ...]
    total_ms: int | None


def time_split_of(figures: TurnFigures) -> TimeSplit:
    times = _times(figures)
    whole = sum(milliseconds or 0 for _, milliseconds in times)
    parts, x = [], 0.0
    for name, milliseconds in times:
        width = BAR_WIDTH * (milliseconds or 0) / whole if whole else 0.0
        parts.append(TimePart(name, milliseconds, round(x, 2), round(width, 2)))
        x += width
    return TimeSplit(tuple(parts), figures.duration_ms)


def _times(figures: TurnFigures) -> Sequence[tuple[Part, int | None]]:
    first, total = figures.time_to_first_token_ms, figures.duration_ms
    decode = None if first is None or total is None else max(0, total - first)
    ends: list[tuple[Part, int | None]] = [("decode", decode)]
    begins: list[tuple[Part, int | None]] = [("queued", figures.queued_ms)]
    if figures.admission_ms is None and figures.prefill_ms is None and first is not None:
        return [*begins, ("waiting", max(0, first - (figures.queued_ms or 0))), *ends]
    return [*begins, ("admission", figures.admission_ms), ("prefill", figures.prefill_ms), *ends]
