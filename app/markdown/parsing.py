"""The one dialect of Markdown of the app: CommonMark with tables, strikethrough, task lists and math.

Raw HTML, bare-link detection and reference definitions are off: a definition far below would change text that
stands above it, also text that a reader already sees.
"""

from markdown_it import MarkdownIt
from mdit_py_plugins.tasklists import tasklists_plugin

from app.markdown.math_rules import use_math

# The parser drops all that stands deeper, and all behind it.
MAX_NESTING = 20


def make_parser() -> MarkdownIt:
    """A parser that is stateless between calls, so that one object serves all worker threads."""
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "maxNesting": MAX_NESTING})
    parser.disable(["reference", "linkify"])
    parser.use(tasklists_plugin)
    use_math(parser)
    return parser


def make_block_parser() -> MarkdownIt:
    """The same dialect, but it only finds the blocks: the text inside them stays as it was written."""
    parser = make_parser()
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
