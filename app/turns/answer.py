"""What has come of one answer so far: text, usage and stopwatch. Knows neither SQL nor HTTP."""

import time
from collections.abc import Callable

from app.accounting import Reported
from inference_client import Message, PrefixCache


class Answer:
    """`accepted_at` is when the send was accepted, on the same monotonic clock, in seconds.

    `prefix` is the text that the turn goes on from; it counts as text of the answer, not as text of this turn.
    `changes` grows with everything that a checkpoint would store.
    """

    def __init__(
        self,
        accepted_at: float,
        *,
        prefix: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._early_start = False
        self._names_base = False
        self._accepted_at = accepted_at
        self._requested_at: float | None = None
        self._started_at: float | None = None
        self._first_text_at: float | None = None
        self._ended_at: float | None = None
        self._parts = [prefix]
        self.changes = 0
        self.reported = Reported()
        self.message_id: str | None = None
        self.prefix_cache: PrefixCache | None = None
        self._previous_found: bool | None = None
        self.stop_reason: str | None = None
        self.stop_sequence: str | None = None

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def has_text(self) -> bool:
        return self._first_text_at is not None

    def requested(self, *, early_start: bool, names_base: bool = False) -> None:
        """The request is about to be written: to one that says `message_start` before the prefill, and that is told
        which message this one follows, or not."""
        self._early_start = early_start
        self._names_base = names_base
        self._requested_at = self._monotonic()

    def started(self) -> None:
        """`message_start` came."""
        self._started_at = self._monotonic()

    def add(self, text: str) -> None:
        if self._first_text_at is None:
            self._first_text_at = self._monotonic()
        self._parts.append(text)
        self.changes += 1

    def take(self, message: Message) -> None:
        """Everything but the text, as last given; what was not reported stays None."""
        self.changes += 1
        usage = message.usage
        self.reported = Reported(
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
            usage.output_tokens,
        )
        self.message_id = message.id
        self.prefix_cache = message.prefix_cache
        self._previous_found = message.previous_found
        self.stop_reason = message.stop_reason
        self.stop_sequence = message.stop_sequence

    @property
    def server_expected(self) -> int | None:
        """What the server itself had expected to read, in tokens; None unless it compared with the base turn."""
        if self.prefix_cache is None or not (self._names_base and self._previous_found):
            return None
        return self.prefix_cache.expected_tokens

    def ended(self) -> None:
        self._ended_at = self._monotonic()

    def timings(self) -> dict[str, int | None]:
        """In milliseconds, under the names of their columns; None for what did not happen.

        Admission and prefill are known only where `message_start` comes before the prefill.
        """
        started = self._started_at if self._early_start else None
        return {
            "queued_ms": _between(self._accepted_at, self._requested_at),
            "admission_ms": _between(self._requested_at, started),
            "prefill_ms": _between(started, self._first_text_at),
            "time_to_first_token_ms": _between(self._accepted_at, self._first_text_at),
            "duration_ms": _between(self._accepted_at, self._ended_at),
        }


def _between(begin: float | None, end: float | None) -> int | None:
    return None if begin is None or end is None else round((end - begin) * 1000)
