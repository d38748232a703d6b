from dataclasses import replace

import pytest

from app.conversations import TurnFigures
from app.models import Turn
from tests.app.houses import START

FIGURES = TurnFigures.of(Turn(status="completed", kind="question", created_at=START))


def test_nothing_is_reported_until_something_is() -> None:
    numbers = (FIGURES.prompt_tokens, FIGURES.computed_tokens, FIGURES.cached_tokens)
    assert numbers == (None, None, None)
    assert FIGURES.expected_is_minimum is False


@pytest.mark.parametrize(
    ("output", "first", "total", "speed"),
    [
        (11, 1000, 2000, 10.0),
        (1, 1000, 2000, None),
        (0, 1000, 2000, None),
        (None, 1000, 2000, None),
        (11, None, 2000, None),
        (11, 1000, None, None),
        (11, 1000, 1000, None),
    ],
)
def test_speed_is_tokens_after_the_first_over_their_time(
    output: int | None, first: int | None, total: int | None, speed: float | None
) -> None:
    figures = replace(FIGURES, output_tokens=output, time_to_first_token_ms=first, duration_ms=total)
    assert figures.tokens_per_second == speed


@pytest.mark.parametrize(
    ("status", "live"), [("queued", True), ("running", True), ("completed", False), ("failed", False)]
)
def test_live_is_queued_or_running(status: str, live: bool) -> None:
    assert replace(FIGURES, status=status).live == live  # type: ignore[arg-type]
