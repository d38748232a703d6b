"""Where two texts begin to differ, and what the text looks like there; pure. It keeps no part of either."""

from dataclasses import dataclass
from typing import Literal

from app.volatile_values import VolatileKind, find_volatile_values

DivergenceKind = VolatileKind | Literal["number", "whitespace", "other"]


@dataclass(frozen=True, slots=True)
class Divergence:
    """`offset` in characters from 0: the first that is another one, or is missing in one of the two."""

    offset: int
    kind: DivergenceKind


def find_divergence(old: str, new: str) -> Divergence | None:
    """None for equal texts. The new text says what it looks like; where that says nothing, the old one."""
    if old == new:
        return None
    pairs = enumerate(zip(old, new, strict=False))
    offset = next((place for place, (before, now) in pairs if before != now), min(len(old), len(new)))
    volatile = _volatile_at(new, offset) or _volatile_at(old, offset)
    return Divergence(offset, volatile or _plain_kind(old, new, offset))


def _volatile_at(text: str, offset: int) -> VolatileKind | None:
    values = find_volatile_values(text)
    return next((value.kind for value in values if value.start <= offset < value.start + len(value.text)), None)


def _plain_kind(old: str, new: str, offset: int) -> DivergenceKind:
    differing = old[offset : offset + 1] + new[offset : offset + 1]
    if all(character.isdecimal() for character in differing):
        return "number"
    return "whitespace" if all(character.isspace() for character in differing) else "other"
