"""Everything that a request to a backend can end in. Knows nothing of HTTP libraries.

InferenceError
├── TransportError           the backend could not be heard
│   ├── ConnectFailed        no connection was made
│   ├── ConnectionLost       the connection broke before the answer was complete
│   ├── FirstTokenTimeout    the backend is there, but no text came in time
│   └── IdleTimeout          nothing came for too long, not even a ping
├── ProtocolError            what came is not the Messages API: no SSE, no JSON, too large, wrong order
└── StatusError              the backend answered with an error, by HTTP status or in the stream
    ├── InvalidRequest       400
    ├── AuthenticationFailed 401, 403
    ├── NotFound             404
    ├── Gone                 410
    ├── RequestTooLarge      413
    ├── RateLimited          429
    ├── Overloaded           529, and a 503 that says so
    └── ServerFault          every other status from 500
"""


class InferenceError(Exception):
    """Base of all errors of this package."""


class TransportError(InferenceError):
    pass


class ConnectFailed(TransportError):
    pass


class ConnectionLost(TransportError):
    pass


class FirstTokenTimeout(TransportError):
    pass


class IdleTimeout(TransportError):
    pass


class ProtocolError(InferenceError):
    pass


class StatusError(InferenceError):
    """`type` and `message` are the backend's own words; `retry_after` is in seconds.

    `status` is 200 for an error that came as an event inside a stream.
    """

    def __init__(
        self,
        status: int,
        error_type: str,
        message: str,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{error_type} ({status}): {message}")
        self.status = status
        self.type = error_type
        self.message = message
        self.request_id = request_id
        self.retry_after = retry_after


class InvalidRequest(StatusError):
    pass


class AuthenticationFailed(StatusError):
    pass


class NotFound(StatusError):
    pass


class Gone(StatusError):
    pass


class RequestTooLarge(StatusError):
    pass


class RateLimited(StatusError):
    pass


class Overloaded(StatusError):
    pass


class ServerFault(StatusError):
    pass


def class_for_status(status: int, error_type: str) -> type[StatusError]:
    if status == 503:
        return class_for_type(error_type)  # A server that is broken, starting or full: only its type tells.
    by_status: dict[int, type[StatusError]] = {
        400: InvalidRequest,
        401: AuthenticationFailed,
        403: AuthenticationFailed,
        404: NotFound,
        410: Gone,
        413: RequestTooLarge,
        429: RateLimited,
        529: Overloaded,
    }
    return by_status.get(status, ServerFault if status >= 500 else StatusError)


def class_for_type(error_type: str) -> type[StatusError]:
    """The class of an `error` event; a type that nobody has heard of is the server's fault."""
    by_type: dict[str, type[StatusError]] = {
        "invalid_request_error": InvalidRequest,
        "authentication_error": AuthenticationFailed,
        "permission_error": AuthenticationFailed,
        "not_found_error": NotFound,
        "request_too_large": RequestTooLarge,
        "rate_limit_error": RateLimited,
        "overloaded_error": Overloaded,
    }
    return by_type.get(error_type, ServerFault)
