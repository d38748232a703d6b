"""How long a request may take, part by part, in seconds. There is no limit on the whole answer."""

from dataclasses import dataclass

import anyio

from inference_client.errors import FirstTokenTimeout, IdleTimeout, TransportError


@dataclass(frozen=True)
class Timeouts:
    """`first_event` runs until the response headers and the first event of a stream, pings included.

    `first_token` runs until the first text or the end of the answer; pings do not stop it. An answer that is
    not streamed has this long until its headers, because they come when the whole text is there. `idle` is
    the longest silence between two events. A backend that sends neither headers nor pings while it reads the
    prompt needs `first_event` and `idle` as long as `first_token`.
    """

    connect: float = 5.0
    first_event: float = 30.0
    first_token: float = 600.0
    idle: float = 60.0
    write: float = 10.0
    pool: float = 5.0


class Patience:
    """How long one stream may still be waited for, and which error it is when that is over."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._started = anyio.current_time()
        self._first_event = True
        self._first_token = True

    def event_came(self) -> None:
        self._first_event = False

    def token_came(self) -> None:
        self._first_token = False

    def wait(self) -> tuple[float, TransportError]:
        """Seconds from now. Silence counts only while we listen, not while our caller works."""
        elapsed = anyio.current_time() - self._started
        if self._first_event:
            limit = self._timeouts.first_event
            seconds, error = limit - elapsed, IdleTimeout(f"no event within {limit:g} s of the request")
        else:
            seconds = self._timeouts.idle
            error = IdleTimeout(f"no event for {seconds:g} s")
        if self._first_token and self._timeouts.first_token - elapsed < seconds:
            limit = self._timeouts.first_token
            return limit - elapsed, FirstTokenTimeout(f"no text within {limit:g} s of the request")
        return seconds, error
