"""The columns of the exported tables. Their names are part of the interface: docs/operations.md says them all."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.reports import TurnRow
from app.reports.overview import Bucket, ErrorCount, ListedTurn, Problem, RankedConversation
from app.web.operator.backend_rows import BackendState
from app.web.table_files import Table
from app.web.turn_layers import lost_tokens
from inference_client.inspection import CacheState


@dataclass(frozen=True, slots=True)
class PricedProblem:
    """`seconds` that its shortfall took to compute again; None where the backend's speed was not measured."""

    problem: Problem
    seconds: float | None


@dataclass(frozen=True, slots=True)
class TimedBucket:
    bucket: Bucket
    step_s: int


@dataclass(frozen=True, slots=True)
class StartedBackend:
    """`since` is None where it did not start within the selection."""

    state: BackendState
    since: datetime | None


def _in_cache(read: Callable[[CacheState], int]) -> Callable[[StartedBackend], int | None]:
    """None where the backend shows no cache, or did not answer in time."""
    return lambda row: None if row.state.cache is None else read(row.state.cache)


PROBLEMS: Final = Table[PricedProblem](
    (
        ("outcome", lambda row: row.problem.key.outcome),
        ("group", lambda row: row.problem.key.outcome.group),
        ("backend", lambda row: row.problem.key.backend),
        ("model", lambda row: row.problem.key.model),
        ("turns", lambda row: row.problem.turns),
        ("conversations", lambda row: row.problem.conversations),
        ("users", lambda row: row.problem.users),
        ("shortfall_tokens", lambda row: row.problem.lost_tokens),
        ("lost_tokens", lambda row: row.problem.lost_tokens if row.problem.key.outcome.is_fault else 0),
        ("shortfall_seconds", lambda row: None if row.seconds is None else round(row.seconds, 3)),
        ("first_seen", lambda row: row.problem.first_seen),
        ("last_seen", lambda row: row.problem.last_seen),
        ("new", lambda row: row.problem.is_new),
        ("ongoing", lambda row: row.problem.ongoing),
        ("worst_turn_id", lambda row: row.problem.worst_turn_id),
        ("worst_conversation_id", lambda row: row.problem.worst_conversation_id),
        ("worst_shortfall_tokens", lambda row: row.problem.worst_lost_tokens),
        ("diverged_where", lambda row: row.problem.diverged_where),
        ("diverged_offset", lambda row: row.problem.diverged_offset),
        ("diverged_kind", lambda row: row.problem.diverged_kind),
    )
)

CONVERSATIONS: Final = Table[RankedConversation](
    (
        ("conversation_id", lambda row: row.id),
        ("reference", lambda row: row.reference),
        ("owner", lambda row: row.owner_name),
        ("turns", lambda row: row.turns),
        ("prompt_tokens", lambda row: row.prompt.tokens),
        ("prompt_turns", lambda row: row.prompt.turns),
        ("cached_tokens", lambda row: row.cached.tokens),
        ("cached_turns", lambda row: row.cached.turns),
        ("reused_tokens", lambda row: row.reuse.part),
        ("expected_tokens", lambda row: row.reuse.of),
        ("expected_turns", lambda row: row.reuse.turns),
        ("lost_tokens", lambda row: row.lost.tokens),
        ("lost_known_turns", lambda row: row.lost.turns),
        ("main_cause", lambda row: row.main_cause),
        ("slowest_first_token_ms", lambda row: row.slowest_first_token_ms),
        ("last_turn_at", lambda row: row.last_turn_at),
    )
)

TURNS: Final = Table[ListedTurn](
    (
        ("turn_id", lambda row: row.id),
        ("conversation_id", lambda row: row.conversation_id),
        ("reference", lambda row: row.reference),
        ("owner", lambda row: row.owner_name),
        ("created_at", lambda row: row.created_at),
        ("kind", lambda row: row.kind),
        ("status", lambda row: row.status),
        ("outcome", lambda row: row.outcome),
        ("group", lambda row: row.outcome.group),
        ("backend", lambda row: row.backend),
        ("model", lambda row: row.model),
        ("prompt_tokens", lambda row: row.prompt_tokens),
        ("cached_tokens", lambda row: row.cached_tokens),
        ("computed_tokens", lambda row: _difference(row.prompt_tokens, row.cached_tokens)),
        ("expected_tokens", lambda row: row.expected_tokens),
        ("expected_is_minimum", lambda row: row.expected_is_minimum),
        ("shortfall_tokens", lambda row: row.shortfall_tokens),
        ("lost_tokens", lambda row: row.lost_tokens),
        ("first_token_ms", lambda row: row.first_token_ms),
    )
)

SERIES: Final = Table[TimedBucket](
    (
        ("start", lambda row: row.bucket.start),
        ("step_seconds", lambda row: row.step_s),
        ("turns", lambda row: row.bucket.turns),
        ("cached_tokens", lambda row: row.bucket.cached),
        ("new_tokens", lambda row: row.bucket.new),
        ("on_purpose_tokens", lambda row: row.bucket.on_purpose),
        ("lost_tokens", lambda row: row.bucket.lost),
        ("rounding_tokens", lambda row: row.bucket.rounding),
        ("first_token_p50_ms", lambda row: row.bucket.first_token_p50_ms),
        ("first_token_p95_ms", lambda row: row.bucket.first_token_p95_ms),
    )
)

ERRORS: Final = Table[ErrorCount](
    (
        ("error_type", lambda row: row.error_type),
        ("turns", lambda row: row.turns),
        ("last_seen", lambda row: row.last_seen),
    )
)

BACKENDS: Final = Table[StartedBackend](
    (
        ("backend", lambda row: row.state.settings.name),
        ("up", lambda row: not row.state.away),
        ("serving_since", lambda row: row.since),
        ("turns", lambda row: row.state.totals.turns),
        ("reported_turns", lambda row: row.state.totals.cached.turns),
        ("prompt_tokens", lambda row: row.state.totals.prompt.tokens),
        ("cached_tokens", lambda row: row.state.totals.cached.tokens),
        ("lost_tokens", lambda row: row.state.totals.lost.tokens),
        ("running", _in_cache(lambda cache: cache.running)),
        ("waiting", _in_cache(lambda cache: cache.waiting)),
        ("slots_live", _in_cache(lambda cache: cache.slots.live)),
        ("slots_cached", _in_cache(lambda cache: cache.slots.cached)),
        ("slots_free", _in_cache(lambda cache: cache.slots.free)),
        ("evicted_tokens", _in_cache(lambda cache: cache.evicted_tokens)),
        ("reuse_rule", lambda row: str(row.state.settings.reuse_rule)),
        ("isolation", lambda row: row.state.settings.isolation),
    )
)

CONVERSATION_TURNS: Final = Table[TurnRow](
    (
        ("number", lambda row: row.number),
        ("turn_id", lambda row: row.figures.id),
        ("kind", lambda row: row.figures.kind),
        ("created_at", lambda row: row.figures.created_at),
        ("finished_at", lambda row: row.figures.finished_at),
        ("idle_before_s", lambda row: row.idle_before_s),
        ("status", lambda row: row.figures.status),
        ("stop_reason", lambda row: row.figures.stop_reason),
        ("error_type", lambda row: row.figures.error_type),
        ("outcome", lambda row: row.figures.outcome),
        ("group", lambda row: row.figures.outcome.group),
        ("backend", lambda row: row.figures.backend),
        ("serving_id", lambda row: row.figures.serving_id),
        ("model", lambda row: row.figures.model),
        ("base_turn_number", lambda row: row.base_turn_number),
        ("prompt_tokens", lambda row: row.figures.prompt_tokens),
        ("cached_tokens", lambda row: row.figures.cached_tokens),
        ("computed_tokens", lambda row: row.figures.computed_tokens),
        ("expected_tokens", lambda row: row.figures.expected_read_tokens),
        ("expected_is_minimum", lambda row: row.figures.expected_is_minimum),
        ("shortfall_tokens", lambda row: row.figures.shortfall_tokens),
        ("lost_tokens", lambda row: lost_tokens(row.figures)),
        ("law_mismatch", lambda row: row.figures.law_mismatch),
        ("output_tokens", lambda row: row.figures.output_tokens),
        ("kv_tokens_at_end", lambda row: row.kv_tokens_at_end),
        ("cached_in_16_token_blocks", lambda row: row.figures.reported.cached_in_blocks(16)),
        ("first_token_ms", lambda row: row.figures.time_to_first_token_ms),
        ("queued_ms", lambda row: row.figures.queued_ms),
        ("admission_ms", lambda row: row.figures.admission_ms),
        ("prefill_ms", lambda row: row.figures.prefill_ms),
        ("duration_ms", lambda row: row.figures.duration_ms),
        ("diverged_where", lambda row: row.figures.diverged_where),
        ("diverged_offset", lambda row: row.figures.diverged_offset),
        ("diverged_kind", lambda row: row.figures.diverged_kind),
    )
)


def _difference(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else whole - part
