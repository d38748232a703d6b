"""What a message tells of the prefix cache: ``prefix_cache`` always, and ``diagnostics`` where they were asked for."""

from typing import Any

from inference_server.api.generation import Generation
from inference_server.reasons import CacheReason, Outcome, explain
from inference_server.records import Record, Records
from inference_server.stats import Stats
from inference_server.text.tokenizer import TextTokenizer


class Diagnosis:
    """Compares every admitted request with the one that it follows. Event loop only."""

    def __init__(
        self, records: Records, tokenizer: TextTokenizer, stats: Stats, serving_id: str, *, prefix_cache: bool
    ) -> None:
        self._records = records
        self._tokenizer = tokenizer
        self._stats = stats
        self._serving_id = serving_id
        self._prefix_cache = prefix_cache

    def of(self, generation: Generation) -> dict[str, Any]:
        """The two fields of a message whose request has just been admitted; from now on others may follow it."""
        record, asked = generation.record, generation.previous_message_id
        previous = self._previous(asked, record)
        if self._prefix_cache:
            reason = explain(record, previous or self._records.before(record.prompt), self._tokenizer)
        else:
            reason = CacheReason(Outcome.DISABLED, None, 0)
        self._records.add(record)
        self._stats.record_reason(reason)
        return {
            "diagnostics": None if asked is None else _public(reason, is_known=previous is not None),
            "prefix_cache": {
                "outcome": reason.outcome.value,
                "expected_tokens": reason.expected,
                "matched_tokens": reason.matched,
                "diverged_at_token": reason.diverged_at,
                "diverged_in": reason.diverged_in,
                "serving_id": self._serving_id,
            },
        }

    def _previous(self, asked: str | None, record: Record) -> Record | None:
        """The one that the caller names; nobody learns whether another scope's id exists."""
        previous = None if asked is None else self._records.get(asked)
        return previous if previous is not None and previous.sequence.scope == record.sequence.scope else None


def _public(reason: CacheReason, *, is_known: bool) -> dict[str, Any] | None:
    """As the public API has it: whether the request changed, not whether the cache still had it."""
    if reason.outcome is Outcome.DISABLED:
        return {"cache_miss_reason": {"type": "unavailable"}}
    if not is_known:
        return {"cache_miss_reason": {"type": "previous_message_not_found"}}
    if reason.outcome is not Outcome.CHANGED:
        return None
    changed = "system_changed" if reason.diverged_in == "system" else "messages_changed"
    return {"cache_miss_reason": {"type": changed, "cache_missed_input_tokens": reason.missed}}
