"""The second wall: whatever the renderer produced, only these tags, attributes and link schemes leave.

It does not know Markdown. Nothing that it lets through loads a remote thing: no img, no style, no id.
"""

import nh3
from pygments.token import STANDARD_TYPES

from app.markdown.math import MATH_ATTRIBUTES, MATH_TAGS

ALLOWED_TAGS = frozenset(
    {
        *("h1", "h2", "h3", "h4", "h5", "h6", "p", "hr", "br", "blockquote", "ul", "ol", "li"),
        *("a", "em", "strong", "s", "span", "code", "pre"),
        *("table", "thead", "tbody", "tr", "th", "td"),
        *MATH_TAGS,
    }
)
ALLOWED_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "pre": {"data-language", "dir"}, **MATH_ATTRIBUTES}
URL_SCHEMES = frozenset({"http", "https", "mailto"})
LINK_REL = "noopener noreferrer nofollow"

HIGHLIGHT_CLASSES = frozenset(name for name in STANDARD_TYPES.values() if name)
BLOCKED_IMAGE_CLASS = "blocked-image"
ALIGN_CLASSES = frozenset({"align-left", "align-center", "align-right"})


def make_cleaner() -> nh3.Cleaner:
    """The sanitiser of every answer. Relative links are dropped: an answer never points at our routes."""
    return nh3.Cleaner(
        tags=set(ALLOWED_TAGS),
        attributes=ALLOWED_ATTRIBUTES,
        allowed_classes={
            "span": set(HIGHLIGHT_CLASSES | {BLOCKED_IMAGE_CLASS}),
            "td": set(ALIGN_CLASSES),
            "th": set(ALIGN_CLASSES),
        },
        url_schemes=set(URL_SCHEMES),
        url_relative="deny",
        link_rel=LINK_REL,
    )
