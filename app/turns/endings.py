"""How a turn can end, in our own words; a backend's words are never shown and never become text."""

from dataclasses import dataclass
from typing import Final

import inference_client as client
from app.conversations import TurnStatus


@dataclass(frozen=True, slots=True)
class Ending:
    status: TurnStatus
    error_type: str | None = None
    error_message: str | None = None


COMPLETED: Final = Ending("completed")
STOPPED: Final = Ending("stopped")
NO_STOP_REASON: Final = Ending("interrupted", "no_stop_reason", "The model server ended the answer without a reason.")
WORKER_LOST: Final = Ending("interrupted", "worker_lost", "The app was stopped while this answer was being written.")
SHUT_DOWN: Final = Ending("interrupted", "shut_down", "The app was restarted while this answer was being written.")
ROWS_GONE: Final = Ending("stopped", "rows_gone", "The turn was ended elsewhere.")
NO_MODEL: Final = Ending("failed", "no_model", "The model server does not offer a model.")
INTERNAL: Final = Ending("failed", "internal", "Something went wrong in the app; the log says more.")

_LOST: Final = (
    (client.ConnectionLost, "connection_lost", "The connection to the model server was lost."),
    (client.IdleTimeout, "idle_timeout", "The model server fell silent."),
)
_FAILED: Final = (
    (client.ConnectFailed, "backend_unreachable", "The model server cannot be reached."),
    (client.FirstTokenTimeout, "first_token_timeout", "The model server did not begin to answer in time."),
    (client.ProtocolError, "protocol_error", "The model server gave an answer that cannot be read."),
    (client.InvalidRequest, "invalid_request", "The model server refused the request."),
    (client.AuthenticationFailed, "authentication_failed", "The model server does not accept our key."),
    (client.NotFound, "model_not_found", "The model server does not have the model."),
    (client.RequestTooLarge, "request_too_large", "The conversation is too large for the model server."),
    (client.RateLimited, "rate_limited", "The model server takes no more requests now."),
    (client.Overloaded, "overloaded", "The model server is overloaded."),
)
UNREACHABLE: Final = "backend_unreachable"
_FAULT: Final = Ending("failed", "backend_fault", "The model server failed.")


def ending_of(error: client.InferenceError, *, has_text: bool) -> Ending:
    """A lost connection interrupts an answer that has text; every other error fails the turn."""
    for kind, error_type, message in _LOST:
        if isinstance(error, kind):
            return Ending("interrupted" if has_text else "failed", error_type, message)
    for failure, error_type, message in _FAILED:
        if isinstance(error, failure):
            return Ending("failed", error_type, message)
    return _FAULT
