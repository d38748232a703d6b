"""The errors of the inference server.

InferenceServerError
├── ConfigError          a flag or environment variable is wrong; the process exits with one line
├── ModelFileError       the model file is missing, damaged or of an unsupported kind
├── RequestError         what a caller got wrong; becomes an error body with an HTTP status
│   ├── InvalidRequest   400, names the field
│   ├── Unauthorized     401
│   ├── Forbidden        403
│   ├── ModelNotFound    404
│   ├── MessageNotFound  404
│   ├── Gone             410
│   ├── TooLarge         413
│   └── Overloaded       529, carries retry-after
└── EngineDead           the engine thread ended; every request is refused with 503
"""


class InferenceServerError(Exception):
    """Base of everything that this package raises on purpose."""


class ConfigError(InferenceServerError):
    """A setting is wrong. The message is one line for the person who started the server."""


class ModelFileError(InferenceServerError):
    """The model file cannot be used. The message names the file and the reason."""


class RequestError(InferenceServerError):
    """A request that the caller has to change.

    ``status`` is the HTTP status and ``type`` the wire name of the error.
    """

    status = 400
    type = "invalid_request_error"

    def __init__(self, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s


class InvalidRequest(RequestError):
    """A field of the request is wrong; ``field`` is its path, such as ``messages.2.content``."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field


class Unauthorized(RequestError):
    """The key is missing or wrong."""

    status = 401
    type = "authentication_error"


class Forbidden(RequestError):
    """The server does not do this for anybody, as it is set up."""

    status = 403
    type = "permission_error"


class ModelNotFound(RequestError):
    """The request names a model that this server does not have."""

    status = 404
    type = "not_found_error"


class MessageNotFound(RequestError):
    """The request names a message that the server does not know, or not any more."""

    status = 404
    type = "not_found_error"


class Gone(RequestError):
    """What is asked for was there, and was given up."""

    status = 410
    type = "not_found_error"


class TooLarge(RequestError):
    """The request body is larger than the server accepts."""

    status = 413
    type = "request_too_large"


class Overloaded(RequestError):
    """The queue is full; the caller may try again after ``retry_after_s``."""

    status = 529
    type = "overloaded_error"


class EngineDead(InferenceServerError):
    """The engine thread has ended, so no request can be answered by this process any more."""
