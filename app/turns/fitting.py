"""Whether a new message still fits the context window, and where the history is cut when it does not.

This comes before the transaction that stores the message: a message that cannot fit must be refused while its
text is still in the form, and a model server that is asked to count must not keep a database waiting.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import anyio
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app import history, prompt
from app.accounting import Reported
from app.conversations.choices import Choice
from app.conversations.ownership import system_prompt_of
from app.conversations.tree import Node
from app.errors import InvalidInput
from app.models import Conversation, Turn
from app.text import is_blank
from app.turns.backends import Backends, ServingBackend
from inference_client import InferenceError

SMALLEST_WINDOW: Final = 1024
"""Prompts up to this many tokens fit every model, so nobody is asked for its window."""


@dataclass(frozen=True, slots=True)
class Cut:
    """`start_id` is the first message that is still sent, None for the new one alone.

    It holds for a message behind `leaf_id` only.
    """

    leaf_id: UUID | None
    start_id: UUID | None


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """Of the newest turn of an answer; of one that reported its prompt before one that did not.

    `end` is prompt and output in tokens, None where not reported; `start_id` the first message that it sent.
    """

    end: int | None
    start_id: UUID | None
    system_prompt_id: UUID | None
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What would be sent with a new message behind `path`, whose first message is the first that is sent now.

    `reached` tokens are taken before the new message. `figures` are those of the answers, by message. `backend` served
    the newest of them.
    """

    model: str | None
    max_tokens: int
    system_prompt: str
    path: tuple[Node, ...]
    figures: Mapping[UUID, AnswerFigures]
    reached: int
    conversation_id: UUID | None = None
    backend: str | None = None

    @property
    def leaf_id(self) -> UUID | None:
        return self.path[-1].id if self.path else None

    def exchanges(self) -> list[history.Exchange]:
        """Of the whole path. It estimates every text, so only a cut asks for it."""
        result: list[history.Exchange] = []
        for node in self.path:
            tokens = _estimate(node)
            if node.role == "user":
                result.append(history.Exchange(node.id, tokens))
            elif result and not is_blank(node.text):
                turn = self.figures.get(node.id, AnswerFigures(None, None, None))
                tokens += result[-1].estimate
                result[-1] = history.Exchange(result[-1].question_id, tokens, turn.end, turn.start_id)
        return result

    def from_message(self, start_id: UUID | None) -> "Standing":
        """The same, cut: it begins with this message; None leaves nothing of the path."""
        return replace(self, path=tuple(history.sent_part(self.path, start_id)) if start_id else ())


async def standing_of(
    session: AsyncSession, conversation: Conversation, path: Sequence[Node], answer_tokens: int
) -> Standing:
    """Of a conversation and the path of it that a new message goes behind."""
    figures = await _figures(session, conversation.id)
    base = next((figures[n.id] for n in reversed(path) if not is_blank(n.text) and n.id in figures), None)
    sent = tuple(history.sent_part(path, base.start_id if base else None))
    system_prompt = await system_prompt_of(session, conversation)
    edited = base is not None and base.system_prompt_id != conversation.system_prompt_id
    before = history.estimate(system_prompt) if system_prompt and (base is None or base.end is None or edited) else 0
    return Standing(
        model=conversation.model,
        max_tokens={"max_tokens": answer_tokens, **json.loads(conversation.params)}["max_tokens"],
        system_prompt=system_prompt,
        path=sent,
        figures=figures,
        reached=before + _reached(sent, figures),
        conversation_id=conversation.id,
        backend=base.backend if base else None,
    )


def first_standing(system_prompt: str, choice: Choice, answer_tokens: int) -> Standing:
    """Of a conversation that the new message starts."""
    before = history.estimate(system_prompt) if system_prompt else 0
    return Standing(choice.model, choice.params.max_tokens or answer_tokens, system_prompt, (), {}, before)


class Fitting:
    """`secret` names the owners' cache scopes, as in the turns themselves."""

    def __init__(self, backends: Backends, secret: bytes) -> None:
        self._backends = backends
        self._secret = secret

    def context_window(self, model: str | None, conversation: UUID | None, before: str | None) -> int | None:
        """Of the backend that the next turn goes to, behind one of the backend `before`; as known without asking."""
        return self._backends.choose(conversation=conversation, model=model, before=before).known_window(model)

    @property
    def window_unasked(self) -> bool:
        return any(backend.window_unasked for backend in self._backends.all)

    @property
    def first_backend(self) -> str:
        return self._backends.first().name

    async def learn_windows(self) -> None:
        async with anyio.create_task_group() as group:
            for backend in self._backends.all:
                group.start_soon(backend.window)

    async def check(self, owner_id: UUID, standing: Standing, new: prompt.PathMessage) -> Cut | None:
        """None where everything fits or the window is not known. No database session may be held meanwhile.

        InvalidInput, with the counted tokens, for a message or a system prompt that does not fit at all.
        """
        backend = self._backends.choose(
            conversation=standing.conversation_id, model=standing.model, before=standing.backend
        )
        needed = standing.reached + history.estimate_message(new)
        tokens = await backend.window(standing.model) if needed > SMALLEST_WINDOW else None
        if tokens is None:
            return None
        window = history.Window(tokens, standing.max_tokens)
        if history.surely_fits(needed, window):
            return None
        counting = _Counting(backend, self._secret, owner_id)
        counted = await counting.tokens(standing, new)
        needed = needed if counted is None else counted
        return None if needed <= window.limit else await _cut(counting, standing, new, needed, window)


@dataclass(frozen=True, slots=True)
class _Counting:
    """Asks the model server, whose word counts; our own estimate only decides when to ask."""

    backend: ServingBackend
    secret: bytes
    owner_id: UUID

    async def tokens(self, standing: Standing, new: prompt.PathMessage) -> int | None:
        """Of the prompt; None where the model server does not tell. Then nothing is refused, it has the last word."""
        isolated = self.backend.settings.isolation == "metadata"
        path = [prompt.PathMessage(node.role, node.text, node.context_note) for node in standing.path]
        try:
            model = standing.model or await self.backend.model()
            body = prompt.build(
                model=model or "",
                max_tokens=standing.max_tokens,
                system_prompt=standing.system_prompt,
                path=[*path, new],
                user_scope=prompt.user_scope(self.secret, self.owner_id) if isolated else None,
            )
            # These two are no part of the prompt, and a count refuses them.
            counted = {key: value for key, value in body.items() if key not in ("max_tokens", "stream")}
            return await self.backend.client.count_tokens(counted)
        except InferenceError:
            return None


async def _cut(
    counting: _Counting, standing: Standing, new: prompt.PathMessage, needed: int, window: history.Window
) -> Cut:
    """The half that stays is counted too, because a part of its size may be an estimate; else all but `new` goes."""
    exchanges = standing.exchanges()
    place = history.cut(exchanges, needed, window)
    start_id = exchanges[place].question_id if place < len(exchanges) else None
    kept = standing.from_message(start_id)
    counted = await counting.tokens(kept, new)
    if counted is not None and counted > window.limit and start_id is not None:
        start_id, kept = None, standing.from_message(None)
        counted = await counting.tokens(kept, new)
    if counted is None or counted <= window.limit:
        return Cut(standing.leaf_id, start_id)
    bare = await counting.tokens(kept, prompt.PathMessage("user", "."))
    raise _refusal(counted, bare or 0, window)


def _refusal(counted: int, bare: int, window: history.Window) -> InvalidInput:
    """`bare` is what the system prompt needs with next to nothing behind it."""
    limit, answer = window.limit, window.reserve
    if bare > limit:
        message = f"The system prompt needs {bare:,} tokens; at most {limit:,} fit beside an answer of {answer:,}."
        return InvalidInput("system_prompt", message)
    message = (
        f"With the system prompt this needs {counted:,} tokens; at most {limit:,} fit beside an answer of {answer:,}."
    )
    return InvalidInput("text", message)


async def _figures(session: AsyncSession, conversation_id: UUID) -> dict[UUID, AnswerFigures]:
    """Of every answer of the conversation that has a turn."""
    query = (
        select(
            Turn.assistant_message_id,
            Turn.input_tokens,
            Turn.cache_creation_input_tokens,
            Turn.cache_read_input_tokens,
            Turn.output_tokens,
            Turn.history_start_message_id,
            Turn.system_prompt_id,
            Turn.backend,
        )
        .where(Turn.conversation_id == conversation_id, Turn.assistant_message_id.is_not(None))
        .order_by(Turn.input_tokens.is_not(None), Turn.id)
    )
    found: dict[UUID, AnswerFigures] = {}
    for answer_id, *usage, output, start_id, system_prompt_id, backend in await session.execute(query):
        prompt_tokens = Reported(*usage).prompt_tokens
        end = None if prompt_tokens is None or output is None else prompt_tokens + output
        assert answer_id is not None, "the query leaves the others out"
        found[answer_id] = AnswerFigures(end, start_id, system_prompt_id, backend)
    return found


def _reached(path: Sequence[Node], figures: Mapping[UUID, AnswerFigures]) -> int:
    """The last recorded end, and estimates of what stands behind it; of everything where none was recorded."""
    tokens = 0
    for node in reversed(path):
        end = figures[node.id].end if node.id in figures and not is_blank(node.text) else None
        if end is not None:
            return end + tokens
        if node.role == "user" or not is_blank(node.text):
            tokens += _estimate(node)
    return tokens


def _estimate(node: Node) -> int:
    return history.estimate_message(prompt.PathMessage(node.role, node.text, node.context_note))
