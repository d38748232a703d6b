"""Counters for ``GET /metrics``, in one Prometheus registry per server. Nothing here knows users or text."""

import time
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from inference_server.engine import Admitted, Engine, EngineEvent, Finished, TextGenerated
from inference_server.reasons import CacheReason, Outcome
from inference_server.sequence import StopReason

_LATENCY_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 30.0, 60.0, 120.0)
_TOKEN_S = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.2, 0.4, 0.8)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_STEP_S = (0.002, 0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.4, 0.8, 1.6)


class Stats:
    """What the server has done since it started. Written by the engine thread; read at scrape time."""

    def __init__(self, num_slots: int) -> None:
        self.registry = CollectorRegistry()
        self._tokens = Counter(
            "recount_inference_tokens",
            "Tokens by kind: prompt tokens read from the cache or computed, output tokens generated.",
            ["kind"],
            registry=self.registry,
        )
        self._requests = Counter(
            "recount_inference_requests", "Finished requests by ending.", ["status"], registry=self.registry
        )
        self._outcomes = Counter(
            "recount_inference_prefix_cache_outcomes",
            "Admitted requests by the reason of what they read from the cache.",
            ["outcome"],
            registry=self.registry,
        )
        self._missed = Counter(
            "recount_inference_prefix_cache_missed_tokens",
            "Prompt tokens that were expected in the cache and had to be computed, by the reason.",
            ["outcome"],
            registry=self.registry,
        )
        self._evicted = Counter(
            "recount_inference_evicted_tokens", "Cached tokens given up for others.", registry=self.registry
        )
        self._recomputed = Counter(
            "recount_inference_recomputed_tokens",
            "Tokens computed again after a request was preempted.",
            registry=self.registry,
        )
        self._slots = Gauge(
            "recount_inference_kv_slots",
            "KV slots: free, cached (evictable) and live (held by running requests).",
            ["state"],
            registry=self.registry,
        )
        self._sequences = Gauge(
            "recount_inference_sequences",
            "Requests in the engine by state.",
            ["state"],
            registry=self.registry,
        )
        self._queue = Histogram(
            "recount_inference_queue_seconds",
            "Arrival to admission.",
            buckets=_LATENCY_S,
            registry=self.registry,
        )
        self._first_token = Histogram(
            "recount_inference_time_to_first_token_seconds",
            "Arrival to the first sampled token.",
            buckets=_LATENCY_S,
            registry=self.registry,
        )
        self._prefill = Histogram(
            "recount_inference_prefill_seconds",
            "Admission to the first sampled token.",
            buckets=_LATENCY_S,
            registry=self.registry,
        )
        self._token = Histogram(
            "recount_inference_time_per_output_token_seconds",
            "Mean time of an answer's tokens behind the first, one observation for each answer.",
            buckets=_TOKEN_S,
            registry=self.registry,
        )
        self._rows = Histogram(
            "recount_inference_batch_rows",
            "Rows (tokens) that one engine step computed.",
            buckets=_ROWS,
            registry=self.registry,
        )
        self._step = Histogram(
            "recount_inference_step_seconds",
            "Time of one engine step.",
            buckets=_STEP_S,
            registry=self.registry,
        )
        for kind in ("cached", "computed", "output"):
            self._tokens.labels(kind)  # A counter that has not counted yet is 0, not absent.
        for reason in StopReason:
            self._requests.labels(reason.value)
        for outcome in Outcome:
            self._outcomes.labels(outcome.value)
            self._missed.labels(outcome.value)
        for state in ("waiting", "running"):
            self._sequences.labels(state)
        self._slots.labels("free").set(num_slots)
        for state in ("cached", "live"):
            self._slots.labels(state)
        self._clocks: dict[str, _Clock] = {}
        self._evicted_so_far = self._recomputed_so_far = 0

    def record_arrival(self, request_id: str) -> None:
        """Start the clock of a request."""
        self._clocks[request_id] = _Clock(time.perf_counter())

    def record_reason(self, reason: CacheReason) -> None:
        """Count why an admitted request read what it read."""
        self._outcomes.labels(reason.outcome.value).inc()
        self._missed.labels(reason.outcome.value).inc(reason.missed)

    def record_events(self, events: list[EngineEvent]) -> None:
        """Count what half a step brought."""
        for event in events:
            self._record(event)

    def record_step(self, seconds: float, engine: Engine) -> None:
        """Take a step's time and rows, and where the slots are now."""
        scheduler = engine.scheduler
        if engine.step_rows:
            self._step.observe(seconds)
            self._rows.observe(engine.step_rows)
        for state, count in scheduler.slots_by_state.items():
            self._slots.labels(state).set(count)
        self._sequences.labels("waiting").set(len(scheduler.waiting))
        self._sequences.labels("running").set(len(scheduler.running))
        self._evicted.inc(scheduler.num_evicted - self._evicted_so_far)
        self._recomputed.inc(scheduler.num_recomputed - self._recomputed_so_far)
        self._evicted_so_far, self._recomputed_so_far = scheduler.num_evicted, scheduler.num_recomputed

    def _record(self, event: EngineEvent) -> None:
        """A request's clock may be missing: its caller has gone, and only the counts matter."""
        now, clock = time.perf_counter(), self._clocks.get(event.id)
        if isinstance(event, Admitted):
            self._tokens.labels("cached").inc(event.cached_tokens)
            self._tokens.labels("computed").inc(event.prompt_tokens - event.cached_tokens)
            if clock is not None:
                clock.admitted = now
                self._queue.observe(now - clock.arrived)
        elif isinstance(event, TextGenerated) and clock is not None and clock.first_token is None:
            clock.first_token = now
            self._first_token.observe(now - clock.arrived)
            self._prefill.observe(now - clock.admitted)
        elif isinstance(event, Finished):
            self._tokens.labels("output").inc(event.output_tokens)
            self._requests.labels(event.reason.value).inc()
            self._clocks.pop(event.id, None)
            if clock is not None and clock.first_token is not None and event.output_tokens > 1:
                self._token.observe((now - clock.first_token) / (event.output_tokens - 1))


@dataclass(slots=True)
class _Clock:
    """When a request reached which state."""

    arrived: float
    admitted: float = 0.0
    first_token: float | None = None
