"""Conversations whose last turn has lost something, as SQL and a model server tell of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import ShownMessage

Piece = tuple[str, str, int, str]  # Segment, state, id and text of one token.
PIECES: tuple[Piece, ...] = (
    ("template", "cached", 910001, "<|start|>"),
    ("system", "cached", 910002, "Zebra"),
    ("system", "cached", 910003, " crossing\n"),
    ("messages.0", "computed", 910004, "Quagga"),
    ("messages.0", "computed", 910005, "\\xea"),
    ("answer", "generated", 910006, "Okapi"),
    ("answer", "generated", 910007, "<|end|>"),
)


@dataclass(frozen=True)
class Talk:
    """`path` is the conversation's; `turns` are the ids of its turns, oldest first."""

    path: str
    turns: tuple[str, ...]

    @property
    def last(self) -> str:
        return self.turns[-1]


def talk(
    site: Site,
    visitor: Visitor,
    *,
    prompts: tuple[str, ...] = ("Be terse.", "Be very terse."),
    pieces: Sequence[Piece] = PIECES,
) -> Talk:
    """One turn with each system prompt. The model server shows these `pieces` of every turn."""
    visitor.open("/")
    visitor.submit("/conversations", text="One", system_prompt=prompts[0])
    site.wait_idle(visitor)
    path = visitor.page.request.url.path
    for prompt in prompts[1:]:
        visitor.open(path)
        visitor.submit(f"{path}/system-prompt", system_prompt=prompt)
        site.ask(visitor, "Two", path)
    site.backend.shown |= dict.fromkeys(message_ids(site, path), ShownMessage(pieces))
    return Talk(path, tuple(str(UUID(row[0])) for row in _turns(site, path)))


def message_ids(site: Site, path: str) -> list[str]:
    """Under which the model server knows the turns of this conversation, oldest first."""
    return [row[1] for row in _turns(site, path)]


def _turns(site: Site, path: str) -> list[tuple[Any, ...]]:
    conversation = UUID(path.rsplit("/", 1)[1]).hex
    return site.rows(
        f"SELECT id, backend_message_id FROM turns WHERE conversation_id = '{conversation}' ORDER BY id"  # noqa: S608
    )


def tell(site: Site, turn_id: str, **columns: Any) -> None:
    """Puts these values into the turn's row."""
    values = ", ".join(f"{name} = {_literal(value)}" for name, value in columns.items())
    site.rows(f"UPDATE turns SET {values} WHERE id = '{UUID(turn_id).hex}'")  # noqa: S608 - from a test


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(int(value))
