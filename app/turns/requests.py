"""What a send takes and gives."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from app.conversations import TurnKind
from app.conversations.choices import NOTHING_CHOSEN, Choice


@dataclass(frozen=True, slots=True)
class SendRequest:
    """One press of a button that asks the model for something.

    question    `text` below `message_id`, the last message that the page showed; None: below the active leaf.
                `conversation_id` None starts a conversation, and only then `system_prompt`, `temporary` and `choice`
                count; its model must be among `offered`.
    edit        `text` beside the question `message_id`
    regenerate  another answer beside the answer `message_id`, or the first one below a question
    retry       the answer `message_id` once more
    continue    more text for the answer `message_id`
    """

    submission_key: str
    text: str = ""
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    kind: TurnKind = "question"
    time_zone: str | None = None
    system_prompt: str | None = None
    temporary: bool = False
    choice: Choice = NOTHING_CHOSEN
    offered: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class SentTurn:
    conversation_id: UUID
    turn_id: UUID
    user_message_id: UUID
    assistant_message_id: UUID
