"""Where the last row of a page stood, so that the next page goes on behind it whatever has moved meanwhile."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self
from uuid import UUID


@dataclass(frozen=True, slots=True)
class TurnMark:
    at: datetime
    id: UUID

    def __str__(self) -> str:
        return f"{self.at.isoformat()}~{self.id}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for what is no mark."""
        at, _, id_ = text.partition("~")
        try:
            mark = cls(datetime.fromisoformat(at), UUID(id_))
        except ValueError:
            return None
        return mark if mark.at.tzinfo is not None else None


@dataclass(frozen=True, slots=True)
class RankMark:
    """`key` is what the ranking is sorted by, as a whole number; it means something to that sort alone."""

    key: int
    id: UUID

    def __str__(self) -> str:
        return f"{self.key}~{self.id}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for what is no mark."""
        key, _, id_ = text.partition("~")
        try:
            mark = cls(int(key), UUID(id_))
        except ValueError:
            return None
        # What no database can hold is no key either.
        return mark if abs(mark.key) < 2**63 else None
