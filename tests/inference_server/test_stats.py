"""The counters: every request once, at its first admission, and nothing that is not a number."""

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from inference_server.engine import Engine
from inference_server.reasons import CacheReason, Outcome
from inference_server.sequence import Sequence
from inference_server.stats import Stats
from tests.inference_server.engine_support import engine, never_ends, sequence, step


def record(subject: Engine, stats: Stats, *sequences: Sequence) -> None:
    """Run requests to their end as the serving engine does."""
    for item in sequences:
        stats.record_arrival(item.id)
        subject.add(item)
    while subject.has_work:
        stats.record_events(step(subject))
        stats.record_step(0.01, subject)


def tokens(stats: Stats, kind: str) -> float | None:
    return stats.registry.get_sample_value("recount_inference_tokens_total", {"kind": kind})


def finished(stats: Stats, status: str) -> float | None:
    return stats.registry.get_sample_value("recount_inference_requests_total", {"status": status})


def test_requests_that_share_nothing_read_nothing_however_often_they_are_preempted() -> None:
    subject, stats = engine(64, never_ends, max_running=4, reserved_output=4), Stats(64)
    sent = [sequence(range(100 * n, 100 * n + 15), 30) for n in range(1, 11)]
    record(subject, stats, *sent)
    recomputed = stats.registry.get_sample_value("recount_inference_recomputed_tokens_total")
    assert recomputed == subject.scheduler.num_recomputed > 0
    assert (tokens(stats, "cached"), tokens(stats, "computed"), tokens(stats, "output")) == (0, 150, 300)
    assert finished(stats, "max_tokens") == 10


def test_cached_and_computed_tokens_add_up_to_the_prompts() -> None:
    subject, stats = engine(64, never_ends, max_running=2, reserved_output=4), Stats(64)
    same = [sequence(range(100, 115), 30) for _ in range(6)]
    record(subject, stats, *same)
    assert tokens(stats, "cached") == sum(item.cached_tokens or 0 for item in same) > 0
    assert (tokens(stats, "cached") or 0) + (tokens(stats, "computed") or 0) == 6 * 15


def test_a_request_that_ended_while_it_waited_counts_no_tokens() -> None:
    subject, stats = engine(64, never_ends, max_running=1), Stats(64)
    running, waiting = sequence(range(100, 110), 3), sequence(range(200, 210), 3)
    subject.add(running)
    subject.add(waiting)
    stats.record_events(step(subject))
    subject.abort(waiting.id)
    record(subject, stats)
    assert (finished(stats, "aborted"), finished(stats, "max_tokens")) == (1, 1)
    assert (tokens(stats, "cached"), tokens(stats, "computed"), tokens(stats, "output")) == (0, 10, 3)


def test_before_the_first_request_every_figure_is_a_number() -> None:
    text = generate_latest(Stats(64).registry).decode()
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert figures['recount_inference_tokens_total{kind="cached"}'] == "0.0"
    assert not any("nan" in figure.lower() for figure in figures.values())


def test_times_and_rows_are_told_apart() -> None:
    """Two requests of 15 and 5 tokens: a first chunk of each, then one row for each token."""
    subject, stats = engine(64, never_ends, max_running=2), Stats(64)
    record(subject, stats, sequence(range(100, 115), 4), sequence(range(200, 205), 1))

    def value(name: str) -> float | None:
        return stats.registry.get_sample_value(f"recount_inference_{name}")

    assert (value("queue_seconds_count"), value("prefill_seconds_count")) == (2, 2)
    assert (value("time_to_first_token_seconds_count"), value("time_per_output_token_seconds_count")) == (2, 1)
    assert value("batch_rows_sum") == 15 + 5 + 3
    assert value("batch_rows_count") == value("step_seconds_count")


def test_missed_tokens_are_counted_by_their_reason() -> None:
    stats = Stats(64)
    for reason in (
        CacheReason(Outcome.EVICTED, 50, 20),
        CacheReason(Outcome.EVICTED, 10, 0),
        CacheReason(Outcome.COLD, None, 0),
        CacheReason(Outcome.HIT, 7, 9),
    ):
        stats.record_reason(reason)

    def counted(name: str, outcome: Outcome) -> float | None:
        return stats.registry.get_sample_value(
            f"recount_inference_prefix_cache_{name}_total", {"outcome": outcome.value}
        )

    assert [counted("outcomes", o) for o in (Outcome.EVICTED, Outcome.COLD, Outcome.HIT, Outcome.CHANGED)] == [
        2,
        1,
        1,
        0,
    ]
    assert [counted("missed_tokens", o) for o in (Outcome.EVICTED, Outcome.COLD, Outcome.HIT)] == [40, 0, 0]


def test_names_and_units_follow_the_conventions_of_prometheus() -> None:
    families = list(text_string_to_metric_families(generate_latest(Stats(64).registry).decode()))
    assert all(family.name.startswith("recount_inference_") and family.documentation for family in families)
    for family in families:
        assert family.type in ("counter", "gauge", "histogram")
        if family.type == "histogram":
            assert family.name.endswith(("_seconds", "_rows"))
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        assert labels <= {"kind", "status", "outcome", "state"}
    slots = next(family for family in families if family.name == "recount_inference_kv_slots")
    assert {sample.labels["state"]: sample.value for sample in slots.samples} == {"free": 64, "cached": 0, "live": 0}
