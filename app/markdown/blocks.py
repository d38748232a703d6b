"""Where the top-level blocks of a text end that is still being written. It renders nothing.

A block is finished once nothing that may still follow can change it. What is cut off there and rendered by itself
is, joined again, what rendering the whole text gives.
"""

import re
from collections.abc import Sequence

from markdown_it.token import Token

from app.markdown.parsing import make_block_parser

# A line that ends in CR at the end of the text is not complete: LF may follow.
_COMPLETE_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r(?!\Z))")
_ENDS_WITH_ITS_LINE = frozenset({"heading_open", "hr"})
_ENDS_WITH_A_BLANK_LINE = frozenset({"paragraph_open", "table_open", "blockquote_open", "math_block"})


class Blocks:
    """Stateless between calls."""

    def __init__(self) -> None:
        self._parser = make_block_parser()

    def cuts(self, text: str, *, final: bool = False) -> list[int]:
        """The ends of the finished blocks of a text that begins with a block, in characters, ascending.

        They stay the same whatever is added to the text. `final` says that nothing is, so all blocks are finished.
        """
        ends = [match.end() for match in _COMPLETE_LINE.finditer(text)]
        if final and (not ends or ends[-1] < len(text)):
            ends.append(len(text))
        if not ends:
            return []
        found = [token for token in self.tokens(text[: ends[-1]]) if token.level == 0 and token.map]
        if found and not final and not _is_closed(found[-1], text, ends):
            found.pop()
        return [ends[token.map[1] - 1] for token in found if token.map]

    def split(self, text: str) -> tuple[str, str]:
        """(finished, open): the source of all finished blocks, and the rest of the text."""
        end = max(self.cuts(text), default=0)
        return text[:end], text[end:]

    def tokens(self, text: str) -> Sequence[Token]:
        """The block structure, as far as the text goes."""
        return self._parser.parse(text)


def _is_closed(last: Token, text: str, ends: Sequence[int]) -> bool:
    """Whether the last block of the lines that end there is finished, although no other has begun behind it."""
    begin, end = last.map or (0, 0)
    if last.type == "fence":
        # The lines of its content lie between two fences, or else behind the first.
        return last.content.count("\n") == end - begin - 2
    if last.type == "heading_open" and end == len(ends) and "|" in text[ends[begin - 1] if begin else 0 : ends[-1]]:
        return False  # A delimiter row below would make it the head of a table.
    if last.type == "math_block" and last.meta["closed"]:
        return True
    return last.type in _ENDS_WITH_ITS_LINE or (last.type in _ENDS_WITH_A_BLANK_LINE and end < len(ends))
