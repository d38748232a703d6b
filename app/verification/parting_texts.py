"""What a turn sent in place of what was sent before it: the texts around the stored place where the two part.

Whoever calls this has checked that the reader may read the conversation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
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
    """`before` stands in front of the place, `changed` is not in the other text, and `after` is in both again.

    The text may begin earlier and go on behind what is here.
    """

    before: str
    changed: str
    after: str
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
        same = _same_at_the_end(old[offset:], new[offset:])
        return PartingTexts(_passage(old, offset, same), _passage(new, offset, same))


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


def _same_at_the_end(old: str, new: str) -> int:
    pairs = zip(reversed(old), reversed(new), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _passage(text: str, offset: int, same: int) -> Passage:
    """`same` characters at the end are those of the other text."""
    changed = text[offset : len(text) - same][:BEHIND]
    end = offset + len(changed)
    after = text[end : offset + BEHIND]
    return Passage(
        before=text[max(0, offset - BEFORE) : offset],
        changed=changed,
        after=after,
        begins_earlier=offset > BEFORE,
        goes_on=len(text) > end + len(after),
    )
