"""The branches of a conversation, as its turns lie on them. It reads the shape of the message tree, and no text."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Message, Turn
from app.reports.figures import BranchRow


async def branches_of(
    session: AsyncSession, conversation_id: UUID, active_leaf_id: UUID | None, turns: Sequence[Turn]
) -> tuple[BranchRow, ...]:
    """Oldest leaf first; none where the messages are gone."""
    query = select(Message.id, Message.parent_id).where(Message.conversation_id == conversation_id)
    parents: dict[UUID, UUID | None] = {
        row.id: row.parent_id for row in await session.execute(query.order_by(Message.seq))
    }
    inner = set(parents.values())
    leaves = [message_id for message_id in parents if message_id not in inner]
    active = active_leaf_id if active_leaf_id in parents else next(reversed(leaves), None)
    rows = []
    for leaf in leaves:
        path = _path(parents, leaf)
        turn_ids = frozenset(turn.id for turn in turns if turn.assistant_message_id in path)
        rows.append(BranchRow(leaf, leaf == active, turn_ids))
    return tuple(rows)


def _path(parents: Mapping[UUID, UUID | None], leaf: UUID) -> set[UUID]:
    """A parent that is missing or stands in a circle, in a damaged tree, ends the walk."""
    path: set[UUID] = set()
    place: UUID | None = leaf
    while place is not None and place in parents and place not in path:
        path.add(place)
        place = parents[place]
    return path
