"""The wall clock as a value that is passed down, so that tests can move it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]  # always aware, in UTC


def utc_now() -> datetime:
    return datetime.now(UTC)
