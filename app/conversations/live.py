"""The seam to running turns: conversations come before turns and do not know how they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

# Beyond every log: whoever follows from a cursor like this has text of no log, and is reset by any.
BEYOND_LOGS = 10**12


@dataclass(frozen=True, slots=True)
class LiveText:
    """`text` is what the answer had before its log began, and the deltas of the events up to `cursor`."""

    text: str
    cursor: int


@dataclass(frozen=True, slots=True)
class GoneTurn:
    """A turn whose text was deleted. `backend_message_id` is what its model server may know it by."""

    id: UUID
    backend_message_id: str | None


class LiveTurns(Protocol):
    async def snapshot(self, turn_id: UUID) -> LiveText | None:
        """Text and cursor of a turn that has a log, captured at once."""

    async def forget(self, turns: Sequence[GoneTurn]) -> None:
        """Ends their jobs, and drops their text wherever it still is. Never raises, and takes seconds at most."""
