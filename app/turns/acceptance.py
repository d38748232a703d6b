"""How a send is accepted: when, where, within which limits, and whether live turns stand in its way."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Conflict, TooMany
from app.models import TURN_IS_LIVE, Conversation, Turn
from app.turns import workers

_RETRY_AFTER_S = 5


@dataclass(frozen=True, slots=True)
class SendLimits:
    max_message_characters: int
    live_turns_per_user: int
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class Acceptance:
    """When, where and how a question is accepted; `accepted_at` is monotonic; all in seconds."""

    now: datetime
    accepted_at: float
    worker_id: UUID
    stale_after: float
    limits: SendLimits


async def check_live(session: AsyncSession, owner_id: UUID, conversation_id: UUID, acceptance: Acceptance) -> None:
    """Conflict while a turn is live in the conversation, TooMany at the owner's limit of live turns."""
    if not await _blocked(session, owner_id, conversation_id, acceptance):
        return
    # Perhaps only turns of a dead worker stand in the way.
    await workers.reap(session, acceptance.worker_id, acceptance.now, acceptance.stale_after)
    refusal = await _blocked(session, owner_id, conversation_id, acceptance)
    if refusal is not None:
        raise refusal


async def _blocked(
    session: AsyncSession, owner_id: UUID, conversation_id: UUID, acceptance: Acceptance
) -> Conflict | TooMany | None:
    query = (
        select(Turn.conversation_id, Turn.id)
        .join(Conversation, Conversation.id == Turn.conversation_id)
        .where(Conversation.owner_id == owner_id, TURN_IS_LIVE)
    )
    live = {row[0]: row[1] for row in await session.execute(query)}
    if conversation_id in live:
        return Conflict("An answer is being written here.", live[conversation_id])
    limit = acceptance.limits.live_turns_per_user
    if len(live) >= limit:
        message = f"{limit} answers are being written for you; wait for one or stop it."
        return TooMany(message, _RETRY_AFTER_S)
    return None
