"""Keyset paging: a page goes on behind a mark, whatever has moved meanwhile."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_

from app.models import Conversation


@dataclass(frozen=True, slots=True)
class MomentMark:
    """Where the last row of a page stood that is ordered by time and id."""

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


class PageMark(MomentMark):
    """Of a conversation; the time is its `updated_at`."""

    @property
    def older(self) -> ColumnElement[bool]:
        """Conversations behind the mark, in the order of the newest activity first."""
        same_time = and_(Conversation.updated_at == self.at, Conversation.id < self.id)
        return or_(Conversation.updated_at < self.at, same_time)


NEWEST_FIRST = (Conversation.updated_at.desc(), Conversation.id.desc())
