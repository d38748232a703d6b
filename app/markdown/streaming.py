"""An answer as HTML while it is written: finished blocks, code that is begun, a preview of any other open block.

It knows no clock, no threads and no readers. Offsets in changes and snapshots count UTF-16 units from the beginning
of the text, as browsers count.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from app.markdown.blocks import Blocks
from app.markdown.highlighting import language_of
from app.markdown.preview import CARET, MARKUP, Completion
from app.markdown.rendering import Markdown, SafeHtml, is_renderable

# Blocks of a longer open text are looked for less often, so that the work stays in proportion to the text.
EAGER_CHARACTERS = 4_000
_RARER = 8

# A bar in the line could yet make it the head of a table; an indented fence is left to the preview.
_FENCE_LINE = re.compile(r"(?:[ \t]*(?:\r\n|\n|\r))*+(`{3,}(?=[^`\r\n]*[\r\n])|~{3,})([^|\r\n]*)(?:\r\n|\n|\r(?!\Z))")
# A line that surely begins a block of its own, outside of code.
_NEW_BLOCK = re.compile(r"^(?:```|~~~|#{1,6}[ \t]|(?<=\n\n)(?![-*+]|\d)\S)", re.MULTILINE)
_MARKUP = re.compile(f"[{re.escape(MARKUP)}]")
# A CARET in a page, where nobody sees it before our script is there.
_CARET_MARK = SafeHtml("<span data-caret></span>")


@dataclass(frozen=True, slots=True)
class Block:
    """One finished block: `html` stands for the text from `start` to `end`."""

    html: SafeHtml
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Code:
    """An open code fence: the open text begins at `start`, the code itself at `code_start`."""

    start: int
    code_start: int
    language: str
    fence: str


@dataclass(frozen=True, slots=True)
class Preview:
    """How the open text from `start` to `end` looks for now. A CARET stands where more text may be put."""

    html: SafeHtml
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Plain:
    """The answer cannot be rendered; all of it is shown as it is from now on."""


Change: TypeAlias = Block | Code | Preview | Plain


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An answer at one moment: `finished` stands for the text up to `end`, `tail` is the open text behind it.

    The tail is shown as `code_text` where `code` is open in it, else as `preview`, in which an empty `data-caret`
    stands for the CARET of a Preview. None of that where it is `plain`.
    """

    finished: SafeHtml
    end: int
    tail: str
    preview: SafeHtml | None = None
    code: Code | None = None
    code_text: str = ""
    plain: bool = False


class AnswerStream:
    """One answer. One call at a time. `take` costs next to nothing, the others render."""

    def __init__(self, markdown: Markdown, blocks: Blocks, completion: Completion) -> None:
        self._markdown = markdown
        self._blocks = blocks
        self._completion = completion
        self.tail = ""
        self.end = 0
        self.code: Code | None = None
        self.plain = False
        self.due = False
        self.hidden = False
        self._characters = self._brackets = 0
        self._line_start = self._looked_at = 0
        self._caret = False
        self._preview: SafeHtml | None = None

    def take(self, text: str) -> None:
        """Adds to the text. Then `due` says that `advance` may find something, `hidden` that a preview would help."""
        self._characters += len(text)
        self._brackets += text.count("[")
        if self.plain:
            return
        self.tail += text
        self.due = self.due or self._may_change(text) or not is_renderable(self._characters, self._brackets)
        self.hidden = self.code is None and (self.hidden or not self._caret or _MARKUP.search(text) is not None)

    def advance(self) -> list[Change]:
        """The blocks that have been finished, and the code that has begun behind them."""
        self.due = False
        if self.plain or not is_renderable(self._characters, self._brackets):
            return self._give_up()
        changes = self._finish(self._blocks.cuts(self.tail))
        if not self.plain and self.code is None:
            self.code = _code_of(self.tail, self.end)
            changes += [self.code] if self.code else []
            self.hidden = self.hidden and self.code is None
        self._looked_at = len(self.tail)
        return changes

    def preview(self) -> list[Change]:
        """The open text as it can be shown now; nothing where that is no news."""
        self.hidden = False
        html = self._markdown.render(self._completion.complete(self.tail))
        if html is None:
            return self._give_up()
        self._caret = CARET in html
        if html == self._preview and not self._caret:
            return []
        self._preview = html
        return [Preview(html, self.end, self.end + _units(self.tail))]

    def finish(self) -> list[Change]:
        """All that is left, once nothing comes any more."""
        if self.plain or not is_renderable(self._characters, self._brackets):
            return self._give_up()
        return self._finish(self._blocks.cuts(self.tail, final=True))

    def _finish(self, cuts: list[int]) -> list[Change]:
        changes: list[Change] = []
        done = 0
        for cut in cuts:
            piece, done = self.tail[done:cut], cut
            html = self._markdown.render(piece)
            if html is None:
                return changes + self._give_up()
            begin, self.end = self.end, self.end + _units(piece)
            changes.append(Block(html, begin, self.end))
        if cuts:
            self.tail = self.tail[done:]
            self._line_start = max(0, self._line_start - done)
            self.code, self._caret, self._preview = None, False, None
            self.hidden = bool(self.tail.strip())
        return changes

    def _give_up(self) -> list[Change]:
        changes: list[Change] = [] if self.plain else [Plain()]
        self.plain, self.hidden, self.code, self.tail = True, False, None, ""
        return changes

    def _may_change(self, text: str) -> bool:
        if "\n" not in text and "\r" not in text:
            return False
        begin = self._line_start
        self._line_start = max(self.tail.rfind("\n"), self.tail.rfind("\r", 0, -1)) + 1
        if self.code:
            return _closing(self.code.fence).search(self.tail, begin) is not None
        return (
            len(self.tail) <= EAGER_CHARACTERS
            or len(self.tail) - self._looked_at > len(self.tail) // _RARER
            or _NEW_BLOCK.search(self.tail, begin) is not None
        )


class BlockStreamer:
    """Makes streams and snapshots of answers; stateless, so that one object serves all worker threads."""

    def __init__(self, markdown: Markdown) -> None:
        self._markdown = markdown
        self._blocks = Blocks()
        self._completion = Completion(self._blocks)

    def begin(self) -> AnswerStream:
        return AnswerStream(self._markdown, self._blocks, self._completion)

    def snapshot(self, text: str) -> Snapshot:
        """A text that is still being written, cut where a stream of it is cut."""
        finished, tail = self._blocks.split(text) if is_renderable(len(text), text.count("[")) else (text, "")
        end = _units(finished)
        code = _code_of(tail, end)
        html = self._markdown.render(finished)
        preview = self._markdown.render("" if code else self._completion.complete(tail))
        if html is None or preview is None:
            return Snapshot(SafeHtml(), 0, text, plain=True)
        if code:
            return Snapshot(html, end, tail, code=code, code_text=_code_text(tail, code.fence))
        # The stream sends no preview for words behind its last one, so whoever comes later needs their place too.
        marked = preview if CARET in tail else preview.replace(CARET, _CARET_MARK)
        return Snapshot(html, end, tail, preview=marked)


def _code_of(tail: str, end: int) -> Code | None:
    found = _FENCE_LINE.match(tail)
    if not found:
        return None
    return Code(end, end + _units(found.group()), language_of(found.group(2)), found.group(1))


def _code_text(tail: str, fence: str) -> str:
    """What is sure to be code: a last line that may yet become the closing fence is left out."""
    text = _FENCE_LINE.sub("", tail, count=1)
    begun = re.search(rf"(?:\A|(?<=[\r\n])) {{0,3}}{re.escape(fence[0])}*[ \t]*\Z", text)
    return text[: begun.start()] if begun else text


def _closing(fence: str) -> re.Pattern[str]:
    mark = re.escape(fence[0])
    return re.compile(rf"(?<=[\r\n]) {{0,3}}{mark}{{{len(fence)},}}[ \t]*(?:\r\n|\n|\r(?!\Z))")


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
