"""The source of a block that is still being written, completed so that it renders without bare markup.

What is begun gets its end (emphasis, code, the head of a table); what cannot be told yet is held back for a moment
(a lone marker, half a link). Only what is shown meanwhile depends on it, never what stays.
"""

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.markdown.blocks import Blocks
from app.markdown.parsing import make_parser

# Stands where the next character of the text will go. Private use: no model writes it, and it is not markup.
CARET = "\ue000"
# Behind any of these the text has to be parsed again; other characters may be put to the caret as they are.
MARKUP = "\r\n*_`~[]<&\\|!$"

_ONLY_MARKERS = re.compile(r"[\s>*+\-=#|:`~_\[\]!\\.$]*|[\s>*+\-]*\d{1,9}[.)]?[ \t]*")
_FENCE_BEGUN = re.compile(r"[\s>*+\-\d.)]*(?:```|~~~)[^`]*")
_UNDECIDED = re.compile(r"[*_~\\!]+$|&#?\w*$|<[A-Za-z][^\s<>]*$")
_CLOSED = re.compile(
    # Math in brackets that is closed; one that is not is no escaped bracket yet.
    r"\\\((?:[^\\]|\\[^)])+?\\\)|\\\[(?:[^\\]|\\[^\]])+?\\\]|"
    r"\\[!-')-/:-@\\-`{-~]|(?<!`)(`+)(?!`)(?:.*?[^`])??\1(?!`)|"
    # Math between dollars that is closed, as nearly as this has to know it.
    r"\$\$(?:\\.|[^\\$]|\$(?!\$))+\$\$|(?<![\d$])\$(?![\s$])(?:\\.|[^\\$])*(?<!\s)\$(?!\d)",
    re.DOTALL,
)
# What may yet begin math; a dollar not before an amount of money; and only so far.
_MATH_BEGUN = re.compile(
    r"\\[(\[][^\n]{0,200}$|"
    r"\$\$(?!\$)(?:\\.|[^\\$])*\$?$|(?<![\d$])\$(?![$\s]|\d[\d.,]*(?:[\s)\]!?;:/–-]|[kKmMbB]\b))[^$\n]{0,200}$",
    re.DOTALL,
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_BACKTICKS = re.compile(r"`+")
_LINK_BEGUN = re.compile(r"(!?)\[([^\[\]\n]{0,300})(\](?:\([^()\n]*)?)?$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class _Begun:
    """The end of a paragraph or cell: `text` to show, `closers` behind it, `exact` if nothing was held back."""

    text: str
    closers: str
    exact: bool


class Completion:
    """Stateless between calls."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._parser = make_parser()

    def complete(self, text: str) -> str:
        """The open text, completed. It has one CARET where nothing was held back, else none."""
        last = text[_line_start(text) :]
        exact = CARET not in text and bool(last.strip())
        if _ONLY_MARKERS.fullmatch(last) or _FENCE_BEGUN.fullmatch(last):
            exact, text = False, text[: len(text) - len(last)]
        text, cut = self._without_open_math(text)
        exact = exact and not cut
        leaf = self._leaf(text)
        if leaf is None:
            return text
        if leaf.type != "inline":
            return text + CARET if exact else text
        begun = _begin(self._parser, leaf.content)
        head = text.rstrip()[: -len(leaf.content)]
        exact = exact and begun.exact
        words = begun.text + text[len(text.rstrip()) :] + CARET if exact else begun.text.rstrip()
        return head + words + begun.closers + _table_head(head + words, leaf)

    def _without_open_math(self, text: str) -> tuple[str, bool]:
        """Lines of math that is not closed are held back."""
        begun = next((each for each in reversed(self._blocks.tokens(text)) if each.nesting == 0), None)
        if begun is None or begun.type != "math_block" or begun.meta["closed"] or begun.map is None:
            return text, False
        return "".join(_LINE.findall(text)[: begun.map[0]]), True

    def _leaf(self, text: str) -> Token | None:
        """The paragraph, cell or code that the text ends in, if it is one."""
        tokens = [token for token in self._blocks.tokens(text) if token.type in ("inline", "fence", "code_block")]
        filled = [token for token in tokens if token.content]
        if not filled:
            return None
        leaf = filled[-1]
        return leaf if leaf.type != "inline" or text.rstrip().endswith(leaf.content) else None


def _begin(parser: MarkdownIt, content: str) -> _Begun:
    open_code = _BACKTICKS.search(_masked(content))
    math = _MATH_BEGUN.search(_masked(content))
    if math and not (open_code and open_code.start() < math.start()):
        return _Begun(content[: math.start()], _emphasis(parser, content[: math.start()]), exact=False)
    if open_code and open_code.end() < len(content):
        run = open_code.group()
        return _Begun(content, run + _emphasis(parser, content + run), exact=True)
    text = content[: open_code.start()] if open_code else content
    undecided = _UNDECIDED.search(_masked(text))
    text = text[: undecided.start()] if undecided else text
    link = _LINK_BEGUN.search(_masked(text))
    if link:
        text = text[: link.start()] + ("" if link.group(1) else text[link.start(2) : link.end(2)])
    return _Begun(text, _emphasis(parser, text), exact=not (open_code or undecided or link))


def _masked(content: str) -> str:
    """As long as the content, but without markup in closed code spans and math, and behind backslashes."""
    return _CLOSED.sub(lambda found: "x" * len(found.group()), content)


def _emphasis(parser: MarkdownIt, content: str) -> str:
    """What closes the emphasis that is open at the end of the content, innermost first."""
    state = StateInline(content.rstrip() + CARET, parser, {}, [])
    parser.inline.tokenize(state)
    parser.inline.ruler2.getRules("")[0](state)  # Pairs the markers.
    unpaired = [each for each in state.delimiters if each.open and each.end < 0]
    return "".join(chr(each.marker) * (2 if each.marker == ord("~") else 1) for each in reversed(unpaired))


def _table_head(text: str, leaf: Token) -> str:
    """The row that makes a table of a line that looks like its head: it is nearly always one."""
    line = text[_line_start(text) :].strip()
    if leaf.level != 1 or not line.startswith("|") or len(line) == 1:
        return ""
    cells = len(_CELL_BORDER.findall(line.removesuffix("|")))
    return "\n|" + "---|" * cells


def _line_start(text: str) -> int:
    return max(text.rfind("\n"), text.rfind("\r")) + 1
