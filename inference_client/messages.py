"""The values that a backend reports: messages, their usage, models. Knows nothing of their wire form."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True)
class Usage:
    """Token counts under their wire names. None is "not reported"; 0 is a reported 0."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None

    def updated(self, later: "Usage") -> Self:
        """Counts are totals, so a later one replaces an earlier one; one not reported changes nothing."""
        reported = {name: count for name, count in vars(later).items() if count is not None}
        return replace(self, **reported)


@dataclass(frozen=True)
class PrefixCache:
    """What a server that can tell says of one request, in tokens; None where it does not say."""

    outcome: str | None = None
    expected_tokens: int | None = None
    matched_tokens: int | None = None
    diverged_at_token: int | None = None
    diverged_in: str | None = None
    serving_id: str | None = None


@dataclass(frozen=True)
class Message:
    """`text` is the text of all text blocks, joined.

    `prefix_cache` is None where the server does not tell. `previous_found` is whether it knew the message that the
    request's `diagnostics` named, None where none was named or nothing was said of it.
    """

    id: str
    model: str
    text: str
    stop_reason: str | None
    stop_sequence: str | None
    usage: Usage
    prefix_cache: PrefixCache | None = None
    previous_found: bool | None = None


@dataclass(frozen=True)
class Model:
    """`context_window` in tokens; None when the backend does not say."""

    id: str
    display_name: str
    context_window: int | None
