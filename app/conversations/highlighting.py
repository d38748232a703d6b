"""Finds the words of a search in a text and cuts out the place around them; pure, and knows no markup."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.text import search_key

# Vowels and final consonants of Hangul: they belong to the syllable that stands before them.
_HANGUL_TAIL = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")
BEFORE, AFTER = 60, 160


@dataclass(frozen=True, slots=True)
class Part:
    text: str
    marked: bool


def highlight(text: str, words: Sequence[str]) -> tuple[Part, ...]:
    """The whole text in parts; `words` are search keys."""
    parts: list[Part] = []
    end = 0
    for start, stop in _found(text, words):
        if start > end:
            parts.append(Part(text[end:start], marked=False))
        parts.append(Part(text[start:stop], marked=True))
        end = stop
    if end < len(text):
        parts.append(Part(text[end:], marked=False))
    return tuple(parts)


def snippet(text: str, words: Sequence[str]) -> tuple[Part, ...]:
    """One line of the text around the first word that is found, an ellipsis where it was cut."""
    first = next(_found(text, words), (0, 0))[0]
    start, stop = max(0, first - BEFORE), first + AFTER
    line = " ".join(text[start:stop].split())
    return highlight(f"{'…' if start else ''}{line}{'…' if stop < len(text) else ''}", words)


def _found(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Places of the words, in order and without overlap. A place never cuts a character from its accents."""
    if not words:
        return
    keys: list[str] = []
    starts: list[int] = []  # Of each cluster, in the joined keys.
    clusters: list[int] = []  # The same in the text.
    length = 0
    for begin, end in _clusters(text):
        key = search_key(text[begin:end])
        keys.append(key)
        starts.append(length)
        clusters.append(begin)
        length += len(key)
    longest_first = sorted(words, key=len, reverse=True)
    last = 0
    for match in re.finditer("|".join(map(re.escape, longest_first)), "".join(keys)):
        start = clusters[bisect_right(starts, match.start()) - 1]
        after = bisect_right(starts, match.end() - 1)
        stop = clusters[after] if after < len(clusters) else len(text)
        if start >= last:
            yield start, stop
            last = stop


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that compose among themselves only: a character and what joins it."""
    begin = 0
    for place, character in enumerate(text):
        if place > begin and not unicodedata.combining(character) and not _HANGUL_TAIL.match(character):
            yield begin, place
            begin = place
    if begin < len(text):
        yield begin, len(text)
