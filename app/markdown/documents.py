"""A text as a part of a larger Markdown document, which any program may show, also one that lets raw HTML through.

It does not know where the parts come from. Nothing of a part loads or runs anything, or changes what stands behind it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.markdown.parsing import MAX_NESTING
from app.markdown.rendering import is_renderable
from app.markdown.sanitizing import URL_SCHEMES

_PROBE: Final = "behind the text"
_HARMFUL: Final = frozenset({"html_block", "html_inline", "image"})
_SCHEME: Final = re.compile(r"\s*([^/?#:]*):")
_MEANS_SOMETHING: Final = re.compile(r"([\\`*_\[\]<>#&~|$])")


def make_document_parser() -> MarkdownIt:
    """What other programs understand: HTML, images, reference definitions, and links that lead anywhere."""
    parser = MarkdownIt("js-default", {"html": True, "linkify": False, "maxNesting": MAX_NESTING})
    parser.disable("linkify")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


def part_of_document(text: str, parser: MarkdownIt) -> str:
    """The text as it is where it is harmless there, with its last code fence closed; else whole in a fence."""
    if not is_renderable(len(text), text.count("[")):
        return fenced(text)
    env: dict[str, dict[str, dict[str, str]]] = {}
    tokens = parser.parse(f"{text}\n\n{_PROBE}", env)
    targets = [reference["href"] for reference in env.get("references", {}).values()]
    targets += [str(token.attrGet("href")) for token in _all(tokens) if token.type == "link_open"]
    if any(token.type in _HARMFUL for token in _all(tokens)) or not all(map(_leads_somewhere_good, targets)):
        return fenced(text)
    last = tokens[-1]
    if last.type == "fence":
        return f"{text}\n{last.markup}"
    return text if last.type == "paragraph_close" and tokens[-2].content == _PROBE else fenced(text)


def fenced(text: str) -> str:
    """As code, whatever fences the text itself has."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def plain_line(text: str) -> str:
    """One line that is shown as it is written."""
    return _MEANS_SOMETHING.sub(r"\\\1", text)


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _leads_somewhere_good(target: str) -> bool:
    scheme = _SCHEME.match(target)
    return scheme is None or scheme[1].lower() in URL_SCHEMES
