"""The chart of a conversation's turns: its layers are the prompt, and its marks what happened in between."""

from uuid import UUID

import pytest

from app.cache_outcomes import Outcome
from app.conversations.figures import TurnFigures
from app.web.turn_chart import PLOT_HEIGHT, chart_of
from app.web.turn_layers import Layers, layers_of, lost_tokens
from tests.app.web.figures import counted, figures, row


def missed(outcome: Outcome, shortfall: int = 1289, **changes: object) -> TurnFigures:
    values = {"expected_read_tokens": 1389, "shortfall_tokens": shortfall, "fault": outcome.is_fault, **changes}
    return counted(1300, 100, outcome=outcome, **values)


@pytest.mark.parametrize(
    ("outcome", "layers"),
    [
        (Outcome.EVICTED, Layers(cached=100, new=11, on_purpose=0, lost=1289, rounding=0)),
        (Outcome.OTHER_REPLICA, Layers(cached=100, new=11, on_purpose=0, lost=1289, rounding=0)),
        (Outcome.SYSTEM_PROMPT_EDITED, Layers(cached=100, new=11, on_purpose=1289, lost=0, rounding=0)),
        (Outcome.CACHING_OFF, Layers(cached=100, new=11, on_purpose=1289, lost=0, rounding=0)),
        (Outcome.BLOCK_ROUNDING, Layers(cached=100, new=11, on_purpose=0, lost=0, rounding=1289)),
        (Outcome.UNKNOWN, Layers(cached=100, new=11, on_purpose=0, lost=0, rounding=1289)),
        (Outcome.PENDING, Layers(cached=100, new=1300, on_purpose=0, lost=0, rounding=0)),
    ],
)
def test_prompt_is_the_sum_of_five_layers(outcome: Outcome, layers: Layers) -> None:
    turn = missed(outcome)
    assert layers_of(turn) == layers
    assert layers.cached + layers.new + layers.on_purpose + layers.lost + layers.rounding == turn.prompt_tokens
    assert lost_tokens(turn) == (None if outcome is Outcome.PENDING else layers.lost)


def test_turn_without_counts_has_no_layers_and_turn_without_expectation_only_new_ones() -> None:
    assert layers_of(figures(shortfall_tokens=5)) is None
    assert lost_tokens(figures()) is None
    assert lost_tokens(counted(16, 0, outcome=Outcome.FIRST_TURN)) == 0
    assert lost_tokens(counted(16, 0, outcome=Outcome.OTHER_REPLICA, fault=True)) is None
    assert layers_of(counted(16, 0)) == Layers(0, 16, 0, 0, 0)


def test_bars_stand_on_one_scale_and_unknown_ones_are_gaps() -> None:
    chart = chart_of([row(1, missed(Outcome.EVICTED)), row(2, figures()), row(3, counted(0, 0)), row(4, counted(1, 1))])
    assert chart.highest == 1400
    tall, *gaps, low = chart.bars
    assert [segment.layer for segment in tall.segments] == ["cached", "lost", "new"]
    assert sum(segment.height for segment in tall.segments) == pytest.approx(PLOT_HEIGHT, abs=0.05)
    assert tall.segments[-1].y == pytest.approx(chart.top, abs=0.05)
    assert tall.segments[0].y + tall.segments[0].height == pytest.approx(chart.baseline, abs=0.05)
    assert [bar.segments for bar in gaps] == [(), ()]
    assert sum(segment.tokens for segment in low.segments) == 2
    assert chart.bars[-1].x + chart.slot <= chart.right


def test_output_is_a_bar_of_its_own_on_the_scale_of_the_prompt() -> None:
    chart = chart_of([row(1, counted(10, 0, 40)), row(2, counted(50, 0))])
    assert chart.highest == 50
    assert chart.bars[0].output is not None
    assert chart.bars[0].output.height == pytest.approx(PLOT_HEIGHT * 40 / 50, abs=0.05)
    assert chart.bars[1].output is None


def test_first_token_line_has_its_own_scale_and_breaks_where_there_was_none() -> None:
    times = (400, 200, None, 300, None, 100, 50)
    chart = chart_of([row(at, counted(10, 0, time_to_first_token_ms=ms)) for at, ms in enumerate(times, start=1)])
    assert chart.slowest == 400
    heights = [bar.first_token_y for bar in chart.bars]
    assert heights[0] == chart.top
    assert heights[1] == pytest.approx(chart.top + PLOT_HEIGHT / 2)
    assert [each is None for each in heights] == [ms is None for ms in times]
    assert [len(line.split()) for line in chart.lines] == [2, 2]  # A single turn between two gaps is a point only.


def test_marks_tell_of_long_waits_cuts_and_other_servers() -> None:
    turn = counted(10, 0)
    rows = [
        row(1, turn, idle_before_s=300.0),
        row(2, turn, idle_before_s=300.5),
        row(3, turn, cut=True, serving_changed=True, idle_before_s=9000.0),
    ]
    assert [bar.marks for bar in chart_of(rows).bars] == [(), ("idle",), ("idle", "cut", "serving")]


def test_shared_turns_are_marked() -> None:
    rows = [row(1, counted(10, 0, id=UUID(int=7))), row(2, counted(10, 0, id=UUID(int=8)))]
    assert [bar.shared for bar in chart_of(rows, {UUID(int=8)}).bars] == [False, True]


def test_chart_of_nothing_has_no_bars() -> None:
    chart = chart_of([row(1, figures())])
    assert (chart.highest, chart.slowest, chart.bars[0].segments, chart.lines) == (0, 0, (), ())
    assert chart_of([]).bars == ()
