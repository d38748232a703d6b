"""The message tree of one conversation, as plain values. Order comes from `seq`, never from times.

A tree that was damaged by hand stays readable: a parent that is missing or stands in a circle ends a walk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal, cast
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.views import Branch
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
    selected_child_id: UUID | None
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
            Message.selected_child_id,
            Message.created_at,
        )
        .where(Message.conversation_id == conversation_id)
        .order_by(Message.seq)
    )
    return [
        Node(id_, parent, seq, cast("Literal['user', 'assistant']", role), text, note, sha, selected, at)
        for id_, parent, seq, role, text, note, sha, selected, at in rows
    ]


def active_path(nodes: Sequence[Node], active_leaf_id: UUID | None) -> list[Node]:
    """From the root to the active leaf, or to the newest leaf where that one is missing."""
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


def children_of(nodes: Sequence[Node]) -> dict[UUID | None, list[Node]]:
    """The messages below each message, oldest first; those without a parent that exists stand under None."""
    known = {node.id for node in nodes}
    children: dict[UUID | None, list[Node]] = {}
    for node in nodes:
        children.setdefault(node.parent_id if node.parent_id in known else None, []).append(node)
    return children


def leaf_below(nodes: Sequence[Node], message_id: UUID) -> UUID:
    """The leaf of the branch that was last chosen below this message; the newest one where none was."""
    children = children_of(nodes)
    by_id = {node.id: node for node in nodes}
    seen: set[UUID] = set()
    while message_id not in seen and children.get(message_id):
        seen.add(message_id)
        selected = by_id[message_id].selected_child_id
        below = children[message_id]
        message_id = next((child.id for child in below if child.id == selected), below[-1].id)
    return message_id


def subtree(nodes: Sequence[Node], message_id: UUID) -> set[UUID]:
    """This message and all below it."""
    children = children_of(nodes)
    found: set[UUID] = set()
    waiting = [message_id]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += [child.id for child in children.get(current, ())]
    return found


def branches_of(nodes: Sequence[Node]) -> dict[UUID, Branch]:
    """For every message that has others beside it."""
    found = {}
    for siblings in children_of(nodes).values():
        ids = [node.id for node in siblings]
        for place, message_id in enumerate(ids if len(ids) > 1 else ()):
            previous = ids[place - 1] if place else None
            following = ids[place + 1] if place + 1 < len(ids) else None
            found[message_id] = Branch(place + 1, len(ids), previous, following)
    return found


async def remember_path(session: AsyncSession, path: Sequence[Node]) -> None:
    """Each message of the path remembers the next one as the branch that was chosen."""
    for parent, child in pairwise(path):
        if parent.selected_child_id != child.id:
            await select_child(session, parent.id, child.id)


async def select_child(session: AsyncSession, parent_id: UUID, child_id: UUID) -> None:
    await session.execute(update(Message).where(Message.id == parent_id).values(selected_child_id=child_id))
