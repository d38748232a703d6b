"""What a step costs, measured at start, so that prefill chunks can be sized by time.

A row costs the linear layers once, and attention to everything before it: rows * (row_s + context_row_s * context).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from inference_server.model_runner import BatchItem, ModelRunner

_ROWS = 32
_CONTEXT = 256
_TRIES = 3


@dataclass(frozen=True, slots=True)
class StepCost:
    """Seconds for one row, and on top of that for one row and one token of context."""

    row_s: float
    context_row_s: float

    def rows_within(self, seconds: float, context: int) -> int:
        """How many rows behind ``context`` tokens fit into this time."""
        return int(seconds / (self.row_s + self.context_row_s * context))


def measure_step_cost(runner: ModelRunner, window: int, clock: Callable[[], float] = time.perf_counter) -> StepCost:
    """Run a few batches of at most ``window`` tokens on an idle runner; nobody matches what they leave in the pool."""
    context = min(_CONTEXT, max(0, window - _ROWS))
    rows = min(_ROWS, window)
    near, far = (_fastest(runner, rows, start, clock) for start in (0, context))
    per_context = (far - near) / (rows * context) if context else 0.0
    return StepCost(near / rows, max(0.0, per_context))


def _fastest(runner: ModelRunner, rows: int, start: int, clock: Callable[[], float]) -> float:
    """The least of a few times: everything but the work itself only adds to it."""
    slots = range(start + rows)
    for begin in range(0, start, rows):  # The context has to exist.
        count = min(rows, start - begin)
        runner.run([BatchItem([0] * count, begin, slots[: begin + count], 0, None)])
    times = []
    for _ in range(_TRIES):
        began = clock()
        runner.run([BatchItem([0] * rows, start, slots, 0, None)])
        times.append(clock() - began)
    return min(times)
