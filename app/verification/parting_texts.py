"""What a turn sent in place of what was sent before it: the texts around the stored place where the two part.

Whoever calls this has checked that the reader may read the conversation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.tree import Node, load_nodes
from app.database import Database
from app.models import SystemPrompt, Turn
from app.verification.rebuilding import Damaged, rebuild

BEFORE: Final = 80
BEHIND: Final = 160


@dataclass(frozen=True, slots=True)
class Passage:
    """`before` stands in front of the place, `behind` from it on; either may be a part of more."""

    before: str
    behind: str
    begins_earlier: bool
    goes_on: bool


@dataclass(frozen=True, slots=True)
class PartingTexts:
    old: Passage
    new: Passage


class Partings:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, turn_id: UUID) -> PartingTexts | None:
        """None where the turn has not parted from its base turn, or a text of the two is not stored any more."""
        async with self._database.read() as session:
            turn = await session.get(Turn, turn_id)
            base = await session.get(Turn, turn.base_turn_id) if turn and turn.base_turn_id else None
            if turn is None or base is None or turn.diverged_where is None or turn.conversation_id is None:
                return None
            nodes = {node.id: node for node in await load_nodes(session, turn.conversation_id)}
            prompts = await _system_prompts(session, turn, base)
        try:
            old, new = (_text(each, turn.diverged_where, nodes, prompts) for each in (base, turn))
        except Damaged:
            return None
        if old is None or new is None:
            return None
        offset = turn.diverged_offset or 0
        return PartingTexts(_passage(old, offset), _passage(new, offset))


async def _system_prompts(session: AsyncSession, *turns: Turn) -> Mapping[UUID, str]:
    used = {turn.system_prompt_id for turn in turns} - {None}
    rows = await session.execute(select(SystemPrompt.id, SystemPrompt.text).where(SystemPrompt.id.in_(used)))
    return {row[0]: row[1] for row in rows}


def _text(turn: Turn, where: str, nodes: Mapping[UUID, Node], prompts: Mapping[UUID, str]) -> str | None:
    """The system prompt, or one of the messages; the answer stands behind those that were sent."""
    body = rebuild(turn, nodes, prompts, None).body
    if where == "system":
        return cast("str", body.get("system", ""))
    messages = [message["content"] for message in cast("list[dict[str, str]]", body["messages"])]
    answer = nodes.get(turn.assistant_message_id) if turn.assistant_message_id else None
    if answer is not None and turn.kind != "continue":
        messages.append(answer.text)
    place = where.removeprefix("messages.")
    return messages[int(place)] if place.isdecimal() and int(place) < len(messages) else None


def _passage(text: str, offset: int) -> Passage:
    return Passage(
        before=text[max(0, offset - BEFORE) : offset],
        behind=text[offset : offset + BEHIND],
        begins_earlier=offset > BEFORE,
        goes_on=len(text) > offset + BEHIND,
    )
