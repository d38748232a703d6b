"""What an owner chooses for a conversation: model and parameters; and the system prompt that a new one begins with."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import select

from app.conversations.ownership import owned_conversation
from app.conversations.params import Params
from app.database import Database
from app.errors import InvalidInput
from app.models import User


@dataclass(frozen=True, slots=True)
class Choice:
    """`model` None means the first that the backend lists."""

    model: str | None
    params: Params


NOTHING_CHOSEN: Final = Choice(None, Params())


def check_offered(model: str | None, offered: Collection[str | None]) -> None:
    """InvalidInput for a model that is not among those; choosing none is always possible."""
    if model is not None and model not in offered:
        raise InvalidInput("model", "The model server does not list this model now.")


class Choices:
    """Every call takes the owner first; NotFound for missing and foreign conversations alike."""

    def __init__(self, database: Database, *, default_system_prompt: str) -> None:
        self._database = database
        self._default_system_prompt = default_system_prompt

    async def of(self, owner_id: UUID, conversation_id: UUID) -> Choice:
        async with self._database.read() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id)
        return Choice(conversation.model, Params.parse(conversation.params))

    async def choose(self, owner_id: UUID, conversation_id: UUID, choice: Choice, offered: Collection[str]) -> None:
        """Affects later turns only. InvalidInput for a model that is neither offered nor chosen already."""
        async with self._database.write() as session:
            conversation = await owned_conversation(session, owner_id, conversation_id, lock=True)
            check_offered(choice.model, (conversation.model, *offered))
            conversation.model = choice.model
            conversation.params = choice.params.canonical()

    async def first_system_prompt(self, owner_id: UUID) -> str:
        """The owner's own default, else the instance's. The form of a new conversation shows it and sends it."""
        async with self._database.read() as session:
            own = await session.scalar(select(User.default_system_prompt).where(User.id == owner_id))
        return self._default_system_prompt if own is None else own
