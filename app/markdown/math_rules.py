r"""Where math begins and ends in Markdown.

In a line: `$x$`, `$$x$$`, `\(x\)` and `\[x\]`. As a block: lines between two lines of `$$`, and from a line that begins
with `\[` to one that ends with `\]`. The rule for blocks is our own. The plugin's one makes math of what has been a
paragraph, a list and more as soon as the closing line comes; a block that readers already see would change.
"""

import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar

from app.markdown.math import MAX_TEX_CHARACTERS

MARK = "$$"
BRACKET = "\\["
END_OF = {"$": "$", MARK: MARK, "\\(": "\\)", BRACKET: "\\]"}
DISPLAYED = (MARK, BRACKET)

# A backslash takes the next character with it, so a line break of TeX before a bracket closes nothing.
_BRACKETED = {
    "\\(": re.compile(r"\\\(((?:[^\\]|\\[^)])+?)\\\)", re.DOTALL),
    BRACKET: re.compile(r"\\\[((?:[^\\]|\\[^\]])+?)\\\]", re.DOTALL),
}
_SIGN_OF_TEX = re.compile(r"[\\^_={}<>]|\A\s")


def use_math(parser: MarkdownIt) -> None:
    """A dollar beside a space or a digit opens or closes nothing, so that amounts of money stay text."""
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, allow_labels=False, double_inline=True)
    rule = math_inline_dollar(allow_space=False, allow_digits=False, allow_double=True)
    parser.inline.ruler.at("math_inline", _from_the_first_character(rule))
    parser.inline.ruler.before("escape", "math_brackets", _math_brackets)
    parser.block.ruler.at("math_block", _math_block, {"alt": ["paragraph", "blockquote", "list"]})


def _from_the_first_character(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """The plugin looks at the character before; before the first one it would find the last one of the text."""

    def math_inline(state: StateInline, silent: bool) -> bool:
        if state.pos or state.src[:1] != "$":
            return rule(state, silent)
        text = state.src
        state.src = text + " "
        try:
            return rule(state, silent)
        finally:
            state.src = text

    return math_inline


def _math_brackets(state: StateInline, silent: bool) -> bool:
    r"""`\[` is also how a bracket is kept from being a link, so what stands in it has to look like TeX."""
    mark = state.src[state.pos : state.pos + 2]
    if mark not in _BRACKETED:
        return False
    # Without a near end nothing is tried, so that many beginnings cost no more than their number.
    limit = min(state.posMax, state.pos + MAX_TEX_CHARACTERS + 4)
    if state.src.find(END_OF[mark], state.pos + 2, limit) < 0:
        return False
    found = _BRACKETED[mark].match(state.src, state.pos, limit)
    if not found or not found[1].strip() or (mark == BRACKET and not _looks_like_tex(found[1])):
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content = found[1].strip()
        token.markup = mark
    state.pos = found.end()
    return True


def _looks_like_tex(text: str) -> bool:
    return bool(text.strip()) and _SIGN_OF_TEX.search(text) is not None


def _math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """By its first line alone, up to the line that closes it. A blank line, which TeX does not allow, ends it too."""
    mark = "" if state.is_code_block(start) else _mark_of(_line(state, start))
    if not mark:
        return False
    if silent:
        return True
    first = _line(state, start).removeprefix(mark)
    closed = first.endswith(END_OF[mark])
    line = start + 1
    while line < end and not closed and _line(state, line) and state.sCount[line] >= state.blkIndent:
        closed = _line(state, line).endswith(END_OF[mark])
        line += 1
    token = state.push("math_block", "math", 0)
    token.block = True
    token.content = first + "\n" * bool(first) + state.getLines(start + 1, line, state.sCount[start], False)
    token.markup = mark
    token.map = [start, line]
    token.meta = {"closed": closed}
    if closed:
        token.content = token.content.rstrip().removesuffix(END_OF[mark])
    state.line = line
    return True


def _mark_of(line: str) -> str:
    """What this line begins a block of math with; "" where it does not."""
    if line == MARK:
        return MARK
    rest = line.removeprefix(BRACKET)
    if rest == line or (rest and not rest[0].isspace() and not _BRACKETED[BRACKET].fullmatch(line)):
        return ""
    inside = rest.removesuffix(END_OF[BRACKET])
    if END_OF[BRACKET] in inside or (inside != rest and not _looks_like_tex(inside)):
        return ""
    return BRACKET


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()
