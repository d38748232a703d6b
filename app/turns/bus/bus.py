"""What a bus does for turns, wherever it keeps their logs. Readers never hold a writer up."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from uuid import UUID

from app.conversations import LiveText
from app.turns.events import TurnEvent


class LogLost(Exception):
    """A log cannot be followed further here: it was dropped, cannot be reached, or is silent for suspiciously long."""


class Bus(Protocol):
    @property
    def away(self) -> bool:
        """Whether logs cannot be reached just now, so that readers turn to SQL."""

    def serving(self, stop: Callable[[UUID], None]) -> AbstractAsyncContextManager[None]:
        """To be entered once, around all use. `stop` is called for every turn that any process cancels."""

    def open(self, turn_id: UUID, text: str = "") -> None:
        """Starts a log without events; `text` is what the answer has already. Never waits."""

    def publish(self, turn_id: UUID, event: TurnEvent) -> None:
        """Appends; never waits. `end` closes the log. Nothing happens if the log was dropped or lost."""

    async def snapshot(self, turn_id: UUID) -> LiveText | None:
        """Text and cursor captured at once, with all that was published here; None without a log."""

    async def follow(self, turn_id: UUID, after: int) -> AsyncGenerator[TurnEvent, None] | None:
        """Events behind `after`, then new ones until `end`. None without a log.

        Begins with `reset` where the events behind `after` are not all here, or where there is no
        such number. Iterating raises LogLost; the reader can ask anew, or look elsewhere.
        """

    def cancel(self, turn_id: UUID) -> None:
        """Asks whoever works on the turn to stop; never waits. It may get lost on the way."""

    def drop(self, turn_id: UUID) -> None:
        """Forgets the log and its text, for all readers; never waits."""

    def sweep(self) -> None:
        """Forgets logs that ended a while ago."""
