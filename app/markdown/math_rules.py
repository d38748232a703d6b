"""Where math begins and ends in Markdown: `$x$` and `$$x$$` in a line, and lines between two lines of `$$`.

The rule for lines is our own. The plugin's one makes math of what has been a paragraph, a list and more as soon as the
closing line comes; a block that readers already see would change.
"""

from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar

MARK = "$$"


def use_math(parser: MarkdownIt) -> None:
    """A dollar beside a space or a digit opens or closes nothing, so that amounts of money stay text."""
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, allow_labels=False, double_inline=True)
    rule = math_inline_dollar(allow_space=False, allow_digits=False, allow_double=True)
    parser.inline.ruler.at("math_inline", _from_the_first_character(rule))
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


def _math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """From a line of `$$` to a line that ends with it. A blank line, which TeX does not allow, ends it without one."""
    if state.is_code_block(start) or _line(state, start) != MARK:
        return False
    if silent:
        return True
    line, closed = start + 1, False
    while line < end and not closed and _line(state, line) and state.sCount[line] >= state.blkIndent:
        closed = _line(state, line).endswith(MARK)
        line += 1
    token = state.push("math_block", "math", 0)
    token.block = True
    token.content = state.getLines(start + 1, line, state.sCount[start], False)
    token.markup = MARK
    token.map = [start, line]
    token.meta = {"closed": closed}
    if closed:
        token.content = token.content.rstrip().removesuffix(MARK)
    state.line = line
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()
