"""Where in the message tree a turn takes place; pure. Nothing that stands there is ever overwritten."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.conversations.figures import TurnFigures, TurnKind
from app.conversations.tree import Node, active_path
from app.errors import Conflict, NotFound
from app.text import is_blank


@dataclass(frozen=True, slots=True)
class Placement:
    """`history` stands above the question. `asked` and `answer` are None where the turn makes new messages.

    `prefix` is the text that a continued answer has so far, else empty.
    """

    history: tuple[Node, ...]
    asked: Node | None
    answer: Node | None
    prefix: str = ""


def place(kind: TurnKind, nodes: Sequence[Node], message_id: UUID | None, active_leaf_id: UUID | None) -> Placement:
    """NotFound for a message that is not there or has the wrong role; Conflict where the kind does not fit it."""
    if kind == "question":
        # What the page showed may have been deleted in another window; the words are sent all the same.
        known = any(node.id == message_id for node in nodes)
        return Placement(tuple(active_path(nodes, message_id if known else active_leaf_id)), None, None)
    target = _found(nodes, message_id)
    path = active_path(nodes, target.id)
    if kind == "edit":
        _require(target.role == "user")
        return Placement(tuple(path[:-1]), None, None)
    if kind == "regenerate" and target.role == "user":
        return Placement(tuple(path[:-1]), target, None)
    _require(target.role == "assistant" and len(path) > 1 and path[-2].role == "user")
    history, asked = tuple(path[:-2]), path[-2]
    is_leaf = all(node.parent_id != target.id for node in nodes)
    if kind == "continue":
        if not is_leaf or is_blank(target.text):
            raise Conflict("This answer cannot be continued.")
        return Placement(history, asked, target, target.text)
    # An answer without text is not worth a branch of its own; but what follows from it must stay as it was sent.
    empty = kind == "retry" and is_leaf and not target.text
    return Placement(history, asked, target if empty else None)


def may_continue(figures: TurnFigures) -> bool:
    """Whether the answer of this turn broke off: at the limit, by Stop, or by an interruption."""
    if figures.status == "completed":
        return figures.stop_reason == "max_tokens"
    return figures.status in ("stopped", "interrupted", "failed")


def _found(nodes: Sequence[Node], message_id: UUID | None) -> Node:
    node = next((node for node in nodes if node.id == message_id), None)
    if node is None:
        raise NotFound
    return node


def _require(condition: bool) -> None:
    if not condition:
        raise NotFound
