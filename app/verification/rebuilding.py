"""Builds the request of a stored turn again, from rows alone; pure.

An answer grows only while nothing stands below it, so the answers above a question still are what was sent with
it. A turn that continued an answer sent its first `prefill_chars` characters.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from pydantic import ValidationError

from app import history, prompt
from app.conversations.params import Params
from app.conversations.tree import Node
from app.models import Turn
from inference_client import encode_body


class Damaged(Exception):
    """The rows do not say what was sent; the message names what is wrong with them."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """`path` holds the messages as they were sent; the body is the one for this cache scope."""

    turn: Turn
    system_prompt: str
    path: tuple[Node, ...]
    user_scope: str | None

    @property
    def body(self) -> prompt.Body:
        return self.body_of(len(self.path))

    def body_of(self, messages: int) -> prompt.Body:
        """With this many messages of the path, from its beginning."""
        params = _params(self.turn)
        return prompt.build(
            model=self.turn.model or "",
            max_tokens=params.max_tokens or 0,
            system_prompt=self.system_prompt,
            path=[as_sent(node) for node in self.path[:messages]],
            user_scope=self.user_scope,
            temperature=params.temperature,
            top_p=params.top_p,
            stop_sequences=params.stop_sequences,
        )

    def bytes_of(self, place: int) -> tuple[int, int]:
        """Where the message of this place stands in the encoded body: its first byte, and the one behind it.

        (0, 0) for one that is not sent.
        """
        content = prompt.content_of(as_sent(self.path[place]))
        end = _end_of_messages(self.body_of(place + 1))
        if end == _end_of_messages(self.body_of(place)):
            return 0, 0
        return end - len(json.dumps(content, ensure_ascii=False).encode()) + 2, end


def rebuild(
    turn: Turn,
    nodes: Mapping[UUID, Node],
    system_prompts: Mapping[UUID, str],
    user_scope: str | None,
) -> Rebuilt:
    """Damaged where the rows do not fit together."""
    if turn.prompt_format != prompt.PROMPT_FORMAT:
        raise Damaged(f"its prompt format {turn.prompt_format} is not known")
    system_prompt = system_prompts.get(turn.system_prompt_id) if turn.system_prompt_id else ""
    if system_prompt is None:
        raise Damaged("its system prompt is missing")
    _params(turn)
    path = _path(turn, nodes)
    start_id = turn.history_start_message_id
    if start_id is not None and all(node.id != start_id for node in path):
        raise Damaged("its first sent message is not among those before it")
    return Rebuilt(turn, system_prompt, tuple(history.sent_part(path, start_id)), user_scope)


def text_is_gone(turn: Turn) -> bool:
    """Whether what it sent was deleted."""
    return turn.user_message_id is None or (turn.kind == "continue" and turn.assistant_message_id is None)


def as_sent(node: Node) -> prompt.PathMessage:
    return prompt.PathMessage(node.role, node.text, node.context_note)


def _path(turn: Turn, nodes: Mapping[UUID, Node]) -> Sequence[Node]:
    """From the root to what was sent last."""
    path: list[Node] = []
    left = dict(nodes)
    node_id = turn.assistant_message_id if turn.kind == "continue" else turn.user_message_id
    while node_id is not None:
        node = left.pop(node_id, None)
        if node is None:
            raise Damaged("a message before it is missing")
        path.append(node)
        node_id = node.parent_id
    if turn.kind == "continue":
        path[0] = replace(path[0], text=path[0].text[: turn.prefill_chars])
    return path[::-1]


def _params(turn: Turn) -> Params:
    try:
        params = Params.parse(turn.params)
    except ValidationError:
        raise Damaged("its parameters cannot be read") from None
    if params.max_tokens is None:
        raise Damaged("its parameters cannot be read")
    return params


def _end_of_messages(body: prompt.Body) -> int:
    """The byte behind the text of the last message; 0 without messages."""
    return encode_body(body).rindex(b'"}]') if body["messages"] else 0
