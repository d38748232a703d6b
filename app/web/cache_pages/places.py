"""Where the pages of one reader are: an operator's lie under /operator, an owner's under the conversation; pure."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Places:
    """`layout` is the template around the page. `conversation` is None for a turn that belongs to none."""

    layout: str
    conversation: str | None
    turns: str
    chat: str | None = None

    @property
    def what_if(self) -> str:
        return f"{self.conversation}/what-if"

    def turn(self, turn_id: UUID) -> str:
        return f"{self.turns}/{turn_id}"


def operators_places(conversation_id: UUID | None) -> Places:
    conversation = f"/operator/conversations/{conversation_id}" if conversation_id else None
    return Places("operator/layout.html", conversation, "/operator/turns")


def owners_places(conversation_id: UUID) -> Places:
    chat = f"/conversations/{conversation_id}"
    return Places("cache/layout.html", f"{chat}/cache", f"{chat}/cache/turns", chat)
