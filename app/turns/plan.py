"""All that a job needs to know of its turn, read once, so that it holds no database session."""

from dataclasses import dataclass
from uuid import UUID

from app.conversations.params import Params
from app.prompt import PathMessage


@dataclass(frozen=True, slots=True)
class Plan:
    """`path` ends with the question, or with the answer that is continued, whose text so far is `prefix`.

    `accepted_at` is on the monotonic clock, in seconds. Of `params` the answer's length is in `max_tokens`, where the
    setting stands in for it. `base_backend` served the base turn, and knows it as `base_message_id`.
    """

    turn_id: UUID
    conversation_id: UUID
    assistant_message_id: UUID
    owner_id: UUID
    system_prompt: str
    path: tuple[PathMessage, ...]
    model: str | None
    max_tokens: int
    salt: bytes
    expected_read_tokens: int | None
    accepted_at: float
    params: Params
    prefix: str = ""
    base_backend: str | None = None
    base_message_id: str | None = None
