"""Texts as parts of one Markdown document, shown by a program that lets everything through."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.markdown.documents import make_document_parser, part_of_document, plain_line
from app.markdown.rendering import MAX_BRACKETS
from tests.app.markdown.corpus import LINKS, LOADS, SCRIPTS

PARSER = make_document_parser()
NEXT = "## Next"
SHOWN_NEXT = "<h2>Next</h2>\n"


def part(text: str) -> str:
    return part_of_document(text, PARSER)


def shown(document: str) -> str:
    """By a program that knows no limits: raw HTML, images and links of every kind."""
    viewer = MarkdownIt("js-default", {"html": True, "linkify": False})
    viewer.validateLink = lambda url: True  # type: ignore[method-assign]
    html: str = viewer.render(document)
    return html


@pytest.mark.parametrize(
    "text",
    [
        "Plain.",
        "# A title\n\n- *one*\n  ```py\n  x\n  ```\n- `<b>`",
        "```html\n<script>\n```",
        "[a](https://b.c) <m@x.y>",
        "a < b",
    ],
)
def test_harmless_text_stands_as_it_is(text: str) -> None:
    assert part(text) == text


@pytest.mark.parametrize("text", [*SCRIPTS, *LOADS, *LINKS])
def test_nothing_runs_or_loads_or_leads_astray(text: str) -> None:
    html = shown(f"{part(text)}\n\n{NEXT}\n")
    assert html.endswith(SHOWN_NEXT)
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {"p", "pre", "code", "h2", "a", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
    for target in re.findall(r'href="([^"]*)"', html):
        assert re.match(r"(https?|mailto):|[^:]*$", target), target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So:\n```py\nx = 1", "So:\n```py\nx = 1\n```"),
        ("~~~~\nx\n~~~", "~~~~\nx\n~~~\n~~~~"),
        ("```", "```\n```"),
        ("- ```\n  inside a list", "- ```\n  inside a list"),
        ("> ```\n> inside a quotation", "> ```\n> inside a quotation"),
    ],
)
def test_fence_that_was_left_open_is_closed(text: str, expected: str) -> None:
    assert part(text) == expected
    assert shown(f"{expected}\n\n{NEXT}\n").endswith(SHOWN_NEXT)


def test_text_with_fences_of_its_own_stays_inside_a_longer_one() -> None:
    text = "<b>\n```\n</b>\n````\n\n## Not a heading"
    assert part(text) == f"`````text\n{text}\n`````"


def test_text_that_is_too_much_to_look_at_stands_as_code() -> None:
    text = "[" * (MAX_BRACKETS + 1)
    assert part(text) == f"```text\n{text}\n```"


ALPHABET = st.sampled_from(
    ["```", "~~~", "`", "<", ">", "b", "/", "!", "--", "- ", "> ", "\n", "\n\n", "    ", "[", "](", ")", ":", "$$"]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(ALPHABET, max_size=30).map("".join))
def test_any_text_leaves_what_follows_alone(text: str) -> None:
    html = shown(f"{part(text)}\n\n{NEXT}\n")
    assert html.endswith(SHOWN_NEXT)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*"\\`*_[]<>#&~|$!()-+.:= ax1", "&amp;", "# ", "<b>"]), min_size=1).map("".join))
def test_plain_line_is_shown_as_it_is_written(text: str) -> None:
    line = " ".join(text.split())
    heading = MarkdownIt("js-default", {"html": True}).parse(f"# {plain_line(line)}")[1]
    assert heading.children is not None
    assert "".join(child.content for child in heading.children) == line
    assert {child.type for child in heading.children} <= {"text", "text_special"}
