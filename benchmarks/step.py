"""How long one step of the model takes: decoding and prefilling, on idle cores and beside a busy one.

python -m benchmarks.step
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

# As the server's own entry has it, and as there it only counts before PyTorch is imported.
os.environ.setdefault("GOMP_SPINCOUNT", "3000")

import click
import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.busy_core import busy_core
from benchmarks.machine import describe_machine
from benchmarks.tables import columns
from inference_server.bundled_model import bundled_model
from inference_server.config import MIB
from inference_server.model.runner import load_model
from inference_server.model_runner import BatchItem, ModelRunner, SamplingDraw

KV_BYTES = 512 * MIB
GREEDY = SamplingDraw(temperature=0.0, top_p=1.0, top_k=0, uniform=0.5)
TOKEN = 42
"""Any: the time of a step does not depend on what is said."""
WARM_UPS = 5


@dataclass(frozen=True)
class StepKind:
    """`chats` requests with `rows` new tokens each behind `context` tokens."""

    name: str
    chats: int
    rows: int
    context: int

    def batch(self) -> list[BatchItem]:
        """Every chat in a run of its own. What lies in the context's slots does not matter for the time."""
        total = self.context + self.rows
        starts = range(0, self.chats * total, total)
        return [
            BatchItem([TOKEN] * self.rows, self.context, range(first, first + total), first, GREEDY) for first in starts
        ]


@dataclass(frozen=True)
class StepTimes:
    """Milliseconds; `busy_ratio` is p95 beside a busy core over p50 on idle ones."""

    step: str
    idle_p50: float
    idle_p95: float
    busy_p50: float
    busy_p95: float

    @property
    def busy_ratio(self) -> float:
        return self.busy_p95 / self.idle_p50


DECODES = tuple(
    StepKind(f"decode, {chats} chats at {context}", chats, 1, context)
    for chats in (1, 4, 16)
    for context in (64, 512, 1142)
)
PREFILLS = tuple(
    StepKind(f"prefill, {rows} rows at {context}", 1, rows, context)
    for rows in (32, 256)
    for context in (0, 1000, 4000)
)


@click.command(context_settings={"show_default": True})
@click.option("--steps", default=30, type=click.IntRange(5), help="Decode steps of each kind; a fifth for prefill.")
@click.option("--profile", "profiled", is_flag=True, help="Show where the time of one step of each size goes, instead.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures to this file.")
def main(steps: int, profiled: bool, json_path: Path | None) -> None:
    """Measure the steps of the model in this process."""
    runner = load_model(bundled_model(), kv_bytes=KV_BYTES)
    click.echo(f"machine: {describe_machine()}; {torch.get_num_threads()} threads, torch {torch.__version__}\n")
    if profiled:
        for kind in (DECODES[1], DECODES[4], DECODES[7], PREFILLS[4]):
            click.echo(f"{kind.name}\n{_profile(runner, kind)}\n")
        return
    times = measured(runner, (*DECODES, *PREFILLS), steps)
    click.echo(render(times))
    if json_path is not None:
        rows = [{**asdict(row), "busy_ratio": row.busy_ratio} for row in times]
        json_path.write_text(json.dumps({"machine": describe_machine(), "steps_ms": rows}, indent=1))


def measured(runner: ModelRunner, kinds: Sequence[StepKind], steps: int) -> list[StepTimes]:
    """Each kind idle first, then beside a spinning process."""
    rows = []
    for kind in kinds:
        count = steps if kind.rows == 1 else max(5, steps // 5)
        idle = _percentiles(runner, kind, count, nullcontext())
        busy = _percentiles(runner, kind, count, busy_core())
        rows.append(StepTimes(kind.name, *idle, *busy))
    return rows


def render(times: Sequence[StepTimes]) -> str:
    head = ["ms", "idle p50", "idle p95", "busy p50", "busy p95", "busy p95 / idle p50"]
    rows = []
    for row in times:
        values = (row.idle_p50, row.idle_p95, row.busy_p50, row.busy_p95, row.busy_ratio)
        rows.append([row.step, *(f"{value:.1f}" for value in values)])
    return columns([head, *rows])


def _percentiles(
    runner: ModelRunner, kind: StepKind, steps: int, neighbour: AbstractContextManager[None]
) -> tuple[float, float]:
    batch = kind.batch()
    with neighbour:
        for _ in range(WARM_UPS if kind.rows == 1 else 1):
            runner.run(batch)
        times = []
        for _ in range(steps):
            began = time.perf_counter()
            runner.run(batch)
            times.append((time.perf_counter() - began) * 1000)
    p50, p95 = np.percentile(times, [50, 95])
    return float(p50), float(p95)


def _profile(runner: ModelRunner, kind: StepKind) -> str:
    """The operations of a few steps by their own time, as means of one step."""
    batch, steps = kind.batch(), 5
    for _ in range(WARM_UPS):
        runner.run(batch)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        began = time.perf_counter()
        for _ in range(steps):
            runner.run(batch)
        step_ms = (time.perf_counter() - began) * 1000 / steps
    events = sorted(recorded.key_averages(), key=lambda event: event.self_cpu_time_total, reverse=True)
    own = {event.key: event.self_cpu_time_total / 1000 / steps for event in events}
    rows = [[event.key, f"{own[event.key]:.2f}", f"{event.count / steps:.0f}"] for event in events[:14]]
    rest = [
        ["other operations", f"{sum(own[event.key] for event in events[14:]):.2f}", ""],
        ["outside of operations", f"{step_ms - sum(own.values()):.2f}", ""],
        ["one step, profiled", f"{step_ms:.2f}", ""],
    ]
    return columns([["operation", "own ms", "calls"], *rows, *rest])


if __name__ == "__main__":
    main()
