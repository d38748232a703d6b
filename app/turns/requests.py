"""What a send takes and gives."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SendRequest:
    """`conversation_id` None starts a conversation, and only then `system_prompt` and `temporary` count."""

    submission_key: str
    text: str
    conversation_id: UUID | None = None
    system_prompt: str | None = None
    time_zone: str | None = None
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class SentTurn:
    conversation_id: UUID
    turn_id: UUID
    user_message_id: UUID
    assistant_message_id: UUID
