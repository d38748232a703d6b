"""The seam to running turns: conversations come before turns and do not know how they run."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class LiveText:
    """`text` is what the answer had before its log began, and the deltas of the events up to `cursor`."""

    text: str
    cursor: int


class LiveTurns(Protocol):
    def snapshot(self, turn_id: UUID) -> LiveText | None:
        """Text and cursor of a turn whose log is here, captured at once."""

    async def forget(self, turn_id: UUID) -> None:
        """Ends the job of a turn whose rows are gone, and drops its text."""
