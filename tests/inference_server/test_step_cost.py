from collections.abc import Sequence

import pytest

from inference_server.model_runner import BatchItem
from inference_server.step_cost import StepCost, measure_step_cost


class TimedRunner:
    """A runner whose batches take a known time on a clock of its own."""

    def __init__(self, num_slots: int, row_s: float, context_row_s: float) -> None:
        self.num_slots = num_slots
        self.now = 0.0
        self._cost = (row_s, context_row_s)

    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        (item,) = batch
        assert list(item.slots) == list(range(item.start + len(item.tokens)))
        assert item.slots[-1] < self.num_slots
        row_s, context_row_s = self._cost
        self.now += len(item.tokens) * (row_s + context_row_s * item.start)
        return [None]

    def copy_kv(self, source: Sequence[int], target_start: int) -> None:
        raise AssertionError("nothing is copied")


@pytest.mark.parametrize("num_slots", [4096, 100])
def test_the_cost_of_a_row_is_found(num_slots: int) -> None:
    runner = TimedRunner(num_slots, 0.002, 0.000004)
    cost = measure_step_cost(runner, runner.num_slots, lambda: runner.now)
    assert cost.row_s == pytest.approx(0.002)
    assert cost.context_row_s == pytest.approx(0.000004)


def test_a_pool_without_room_for_context_is_measured_too() -> None:
    runner = TimedRunner(8, 0.001, 0.5)
    assert measure_step_cost(runner, runner.num_slots, lambda: runner.now) == StepCost(pytest.approx(0.001), 0.0)


def test_rows_shrink_as_the_context_grows() -> None:
    cost = StepCost(0.001, 0.00001)
    assert [cost.rows_within(0.06, context) for context in (0, 100, 500)] == [60, 30, 10]
