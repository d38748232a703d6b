"""Where the last row of a page of the ranking stood, so that the next one goes on behind it."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID


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
