"""When a request is sent again. Only asked before the first byte of an answer has come."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from inference_client.errors import ConnectFailed, ConnectionLost, InferenceError, StatusError


@dataclass(frozen=True)
class RetryPolicy:
    """`attempts` in total; delays in seconds, growing twofold from `base_delay` to `max_delay`, with jitter.

    A `retry-after` of the backend is waited for in full; one over `max_retry_after` is left to the caller.
    A timeout is never retried, because the backend may still be at work on the request.
    """

    attempts: int = 3
    base_delay: float = 0.5
    max_delay: float = 8.0
    max_retry_after: float = 60.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    jitter: Callable[[], float] = random.random  # In [0, 1).

    def delay(self, attempt: int, error: InferenceError) -> float | None:
        """Seconds to wait after this attempt (the first is 1), or None when the error is to be raised."""
        if attempt >= self.attempts or not _is_passing(error):
            return None
        if isinstance(error, StatusError) and error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.max_retry_after else None
        full = min(self.max_delay, self.base_delay * 2.0 ** (attempt - 1))
        return full * (0.5 + 0.5 * self.jitter())


def _is_passing(error: InferenceError) -> bool:
    if isinstance(error, StatusError):
        return error.status in (408, 429) or error.status >= 500
    return isinstance(error, ConnectFailed | ConnectionLost)
