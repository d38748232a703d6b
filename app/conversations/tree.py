"""The message tree of one conversation, as plain values. Order comes from `seq`, never from times."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Message


@dataclass(frozen=True, slots=True)
class Node:
    id: UUID
    parent_id: UUID | None
    seq: int
    role: Literal["user", "assistant"]
    text: str
    context_note: str | None
    sent_sha256: str | None
    created_at: datetime


async def load_nodes(session: AsyncSession, conversation_id: UUID) -> list[Node]:
    """All messages of the conversation, oldest first."""
    rows = await session.execute(
        select(
            Message.id,
            Message.parent_id,
            Message.seq,
            Message.role,
            Message.text,
            Message.context_note,
            Message.sent_sha256,
            Message.created_at,
        )
        .where(Message.conversation_id == conversation_id)
        .order_by(Message.seq)
    )
    return [
        Node(id_, parent, seq, cast("Literal['user', 'assistant']", role), text, note, sha, at)
        for id_, parent, seq, role, text, note, sha, at in rows
    ]


def active_path(nodes: Sequence[Node], active_leaf_id: UUID | None) -> list[Node]:
    """From the root to the active leaf, or to the newest leaf where that one is missing.

    A parent that is missing or stands in a circle ends the walk: a damaged tree stays readable.
    """
    by_id = {node.id: node for node in nodes}
    parents = {node.parent_id for node in nodes}
    leaves = [node for node in nodes if node.id not in parents]
    node = by_id.get(active_leaf_id) if active_leaf_id else None
    if node is None and nodes:
        node = max(leaves or nodes, key=lambda leaf: leaf.seq)
    path: list[Node] = []
    while node is not None and node.id in by_id:
        path.append(by_id.pop(node.id))
        node = by_id.get(node.parent_id) if node.parent_id else None
    return path[::-1]
