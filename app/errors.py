"""What callers of the app's services can cause. Nothing here knows HTTP.

RecountError
├── InvalidInput        a field of a form is not acceptable
├── NotFound            missing, or somebody else's
├── Conflict            the state does not allow it now
├── NotAllowed          this account may not do it
├── TooMany             a limit was reached; try again later
└── ConfigurationError  a setting or the database does not fit; one clear line
"""

from uuid import UUID


class RecountError(Exception):
    """Base of every error that the app's services raise on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidInput(RecountError):
    """`field` is the form field that the message is about."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class NotFound(RecountError):
    """The same for what is missing and for what belongs to somebody else."""

    def __init__(self, message: str = "Not found.") -> None:
        super().__init__(message)


class Conflict(RecountError):
    """`turn_id` is the live turn that stands in the way, where one does."""

    def __init__(self, message: str, turn_id: UUID | None = None) -> None:
        super().__init__(message)
        self.turn_id = turn_id


class NotAllowed(RecountError):
    """The account may not do this, or not any more."""


class TooMany(RecountError):
    """`retry_after` is in whole seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ConfigurationError(RecountError):
    """The process cannot start or go on as it is configured."""
