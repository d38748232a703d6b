"""The tokens of one message as a strip: a page of them in runs of one segment and state; pure.

Ids and pieces of tokens are in it only for readers who may read texts.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from app.web.languages import Language
from app.web.place_words import segment_words
from inference_client import MessageTokens
from inference_client.inspection import ShownToken, TokenState

PAGE_TOKENS: Final = 1000
LEVELS: Final = ((0.5, 3), (0.15, 2), (0.0, 1))
"""How strongly a position is marked: from which share of the heaviest weight on."""

_VISIBLE: Final = {"\n": "↵", "\t": "⇥", "\r": "␍"}


@dataclass(frozen=True, slots=True)
class StripToken:
    """`level` is how much the chosen position looks there: 0 for not among the first, up to 3.

    `id` and `text` are None for a reader who may not read. `has_kv`: it was computed, so that one can ask where it
    looks; of the last generated token nobody computes it.
    """

    position: int
    state: TokenState
    id: int | None
    text: str | None
    level: int
    asking: bool
    diverged: bool
    has_kv: bool


@dataclass(frozen=True, slots=True)
class StripRun:
    """Neighbours of one segment and one state; the words are for headings."""

    segment: str
    state: str
    first: int
    last: int
    tokens: tuple[StripToken, ...]


@dataclass(frozen=True, slots=True)
class StripPart:
    """A stretch of one state over all tokens, for the overview."""

    state: TokenState
    words: str
    start: int
    tokens: int


@dataclass(frozen=True, slots=True)
class StripPage:
    start: int
    last: int
    current: bool


@dataclass(frozen=True, slots=True)
class Strip:
    """`start` is the first position of the page that `runs` hold; `total` counts all tokens of the message."""

    total: int
    kv_tokens: int
    finished: bool
    start: int
    runs: tuple[StripRun, ...]
    parts: tuple[StripPart, ...]
    pages: tuple[StripPage, ...]


def strip_of(
    shown: MessageTokens,
    position: int,
    language: Language,
    *,
    readable: bool,
    weights: Mapping[int, float],
    asking: int | None,
    diverged: int | None,
) -> Strip:
    """The page with this position, or the nearest one. `weights` are those of the positions to be marked."""
    total = len(shown.tokens)
    start = min(max(0, position), max(0, total - 1)) // PAGE_TOKENS * PAGE_TOKENS
    heaviest = max(weights.values(), default=0.0)

    def token(each: ShownToken) -> StripToken:
        return StripToken(
            position=each.position,
            state=each.state,
            id=each.id if readable else None,
            text=visible(each.text) if readable else None,
            level=_level(weights.get(each.position), heaviest),
            asking=each.position == asking,
            diverged=each.position == diverged,
            has_kv=each.position < shown.kv_tokens,
        )

    return Strip(
        total=total,
        kv_tokens=shown.kv_tokens,
        finished=shown.finished,
        start=start,
        runs=tuple(
            StripRun(segment_words(segment, language), state_words(state, language), run[0].position,
                     run[-1].position, tuple(map(token, run)))
            for (segment, state), run in _runs(shown.tokens[start : start + PAGE_TOKENS])
        ),
        parts=_parts(shown.tokens, language),
        pages=tuple(
            StripPage(first, min(first + PAGE_TOKENS, total) - 1, first == start)
            for first in range(0, total, PAGE_TOKENS)
        ),
    )  # fmt: skip


def visible(text: str) -> str:
    """With a sign for each character that one would not see."""
    return "".join(
        _VISIBLE.get(character)
        or (f"\\x{ord(character):02x}" if unicodedata.category(character) == "Cc" else character)
        for character in text
    )


def state_words(state: TokenState, language: Language) -> str:
    return {
        "cached": language.gettext("from cache"),
        "computed": language.gettext("computed"),
        "generated": language.gettext("generated"),
    }[state]


def _level(weight: float | None, heaviest: float) -> int:
    if weight is None or not heaviest:
        return 0
    return next(level for share, level in LEVELS if weight >= share * heaviest)


def _runs(tokens: Sequence[ShownToken]) -> list[tuple[tuple[str, TokenState], list[ShownToken]]]:
    return [(key, list(run)) for key, run in groupby(tokens, key=lambda token: (token.segment, token.state))]


def _parts(tokens: Sequence[ShownToken], language: Language) -> tuple[StripPart, ...]:
    runs = [(state, list(run)) for state, run in groupby(tokens, key=lambda token: token.state)]
    return tuple(StripPart(state, state_words(state, language), run[0].position, len(run)) for state, run in runs)
