"""Which part of a conversation is sent when the context window cannot hold all of it; pure.

A cut is one big step, to half the window, so that the turns behind it hit the cache again. Knows tokens and places
in a path, neither SQL nor a model server.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar
from uuid import UUID

from app import prompt

MESSAGE_TOKENS: Final = 8
"""More than the role marks around one message take in the usual chat templates."""
SURE_SHARE: Final = 0.9
"""Estimates below this share of the limit are believed; above it the model server is asked to count."""

_LETTERS = re.compile("[A-Za-z ]+")


class HasId(Protocol):
    @property
    def id(self) -> UUID: ...


Stored = TypeVar("Stored", bound=HasId)


@dataclass(frozen=True, slots=True)
class Window:
    """In tokens: what the model takes at all, and the longest answer, which needs room too."""

    tokens: int
    answer_tokens: int

    @property
    def reserve(self) -> int:
        """Kept free for the answer. A small window would otherwise have no room for any question."""
        return min(self.answer_tokens, self.tokens // 2)

    @property
    def limit(self) -> int:
        """The longest prompt."""
        return self.tokens - self.reserve

    @property
    def half(self) -> int:
        """What a prompt is cut down to."""
        return min(self.limit, self.tokens // 2)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of the path with its answer, which may be blank.

    `end` is where they end in the prompt: prompt and output tokens of the answer's newest turn, None where not
    reported. `start_id` is the message that this turn's prompt began with, None for the root.
    `estimate` is that of the two texts.
    """

    question_id: UUID
    estimate: int
    end: int | None = None
    start_id: UUID | None = None


def estimate(text: str) -> int:
    """Tokens of one message, rather too many: three letters make one, any other byte is one of its own."""
    letters = sum(map(len, _LETTERS.findall(text)))
    return MESSAGE_TOKENS + len(text.encode()) - letters + -(-letters // 3)


def estimate_message(message: prompt.PathMessage) -> int:
    return estimate(prompt.content_of(message))


def surely_fits(needed: int, window: Window) -> bool:
    return needed <= SURE_SHARE * window.limit


def sizes(exchanges: Sequence[Exchange]) -> list[int]:
    """Tokens of each: the difference of two recorded ends of one history.

    Else the estimate, lowered by what the estimates of the recorded ones are too high.
    """
    recorded = _recorded_sizes(exchanges)
    known = [(size, each.estimate) for size, each in zip(recorded, exchanges, strict=True) if size is not None]
    share = min(1.0, sum(size for size, _ in known) / sum(guess for _, guess in known)) if known else 1.0
    return [
        round(share * each.estimate) if size is None else size for size, each in zip(recorded, exchanges, strict=True)
    ]


def cut(exchanges: Sequence[Exchange], needed: int, window: Window) -> int:
    """The place of the first exchange that is still sent; their number where only the new message is.

    It is the earliest with which the prompt, which now needs `needed` tokens, takes at most half the window.
    """
    rest = needed
    for place, size in enumerate(sizes(exchanges), start=1):
        rest -= size
        if rest <= window.half:
            return place
    return len(exchanges)


def _recorded_sizes(exchanges: Sequence[Exchange]) -> list[int | None]:
    """Nothing is taken across two histories: the turn behind a cut began elsewhere than the one before it."""
    result: list[int | None] = []
    before: Exchange | None = None
    for each in exchanges:
        size = None
        if each.end is not None and before is not None and before.end is not None and before.start_id == each.start_id:
            size = max(0, each.end - before.end)
        result.append(size)
        before = each
    return result


def sent_part(path: Sequence[Stored], start_id: UUID | None) -> Sequence[Stored]:
    """The path from this message on; all of it for None and for a message that is not there."""
    place = next((place for place, message in enumerate(path) if message.id == start_id), 0)
    return path[place:]
