"""Markdown of models that mean well, and of those that do not."""

import sys
from html.parser import HTMLParser
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.markdown import Markdown, SafeHtml
from app.markdown.highlighting import MAX_HIGHLIGHTED_CHARACTERS
from app.markdown.rendering import MAX_BRACKETS, MAX_RENDERED_CHARACTERS
from app.markdown.sanitizing import ALLOWED_ATTRIBUTES, ALLOWED_TAGS, LINK_REL, make_cleaner
from tests.app.markdown.corpus import LINKS, LOADS, SCRIPTS

MARKDOWN = Markdown()


def render(text: str) -> str:
    html = MARKDOWN.render(text)
    assert html is not None
    return html


class Walker(HTMLParser):
    """Fails on anything that is not on the list."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[dict[str, str | None]] = []
        self.values: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED_TAGS
        self.values += [value for _, value in attrs]
        for name, value in attrs:
            if name == "class":
                assert tag in ("span", "td", "th")
            elif (tag, name) == ("a", "rel"):
                assert value == LINK_REL
            else:
                assert name in ALLOWED_ATTRIBUTES.get(tag, ())
        if tag == "a":
            self.links.append(dict(attrs))

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def walk(html: str) -> Walker:
    walker = Walker()
    walker.feed(html)
    walker.close()
    return walker


def walked(text: str) -> Walker:
    return walk(render(text))


@pytest.mark.parametrize("text", SCRIPTS)
def test_scripts_are_only_text(text: str) -> None:
    assert not walked(text).links


@pytest.mark.parametrize("text", LINKS)
def test_links_lead_nowhere_dangerous(text: str) -> None:
    assert all(link.get("href") is None for link in walked(text).links)


def test_good_links_stay_and_are_marked() -> None:
    links = walked("[a](https://example.org/p?q=1#f 'title') <mailto:me@example.org> <https://example.org>").links
    assert [link["href"] for link in links] == [
        "https://example.org/p?q=1#f",
        "mailto:me@example.org",
        "https://example.org",
    ]
    assert {link["rel"] for link in links} == {LINK_REL}


@pytest.mark.parametrize(
    "text",
    [
        "![a cat](https://evil.example/?q=secret)",
        "![a cat](//evil.example/p)",
        "![a cat][r]\n\n[r]: https://evil.example",
    ],
)
def test_images_are_never_loaded(text: str) -> None:
    html = render(text)
    assert "<img" not in html
    assert "a cat" in html


@pytest.mark.parametrize("text", LOADS)
def test_nothing_is_loaded_from_elsewhere(text: str) -> None:
    assert not any("evil" in str(value) for value in walked(text).values)


@pytest.mark.parametrize("text", [*LOADS, *SCRIPTS])
def test_second_wall_alone_lets_nothing_through(text: str) -> None:
    """As if the renderer had let raw HTML through."""
    walker = walk(make_cleaner().clean(text))
    assert not any("evil" in str(value) or "alert" in str(value) for value in walker.values)


def test_blocked_image_leaves_its_mark_and_its_words() -> None:
    html = render("![a *grey* cat](https://evil.example/?q=secret) ![](x.png)")
    assert '<span class="blocked-image">a grey cat</span>' in html
    assert '<span class="blocked-image"></span>' in html
    assert "evil.example" not in html


def test_common_markdown() -> None:
    html = render(
        "# Title\n\n3. *three*\n4. **four**\n\n- [x] done\n- [ ] open\n\n|a|b|\n|:-|-:|\n|1|~~2~~|\n\n    code\n"
    )
    assert "<h1>Title</h1>" in html
    assert '<ol start="3">' in html
    assert "<li>☑ done</li>" in html
    assert "<li>☐ open</li>" in html
    assert '<td class="align-left">1</td>' in html
    assert '<td class="align-right"><s>2</s></td>' in html
    assert '<pre dir="ltr"><code>code\n</code></pre>' in html


def test_code_is_coloured_by_the_named_language_only() -> None:
    coloured = render("```python title\ndef f(): pass\n```")
    assert '<pre dir="ltr" data-language="python"><code><span class="k">def</span>' in coloured
    for fence in ("```\ndef f(): pass\n```", "```no-such-language\ndef f(): pass\n```"):
        assert "def f(): pass" in render(fence)
    long = "x = 1\n" * MAX_HIGHLIGHTED_CHARACTERS
    assert "<span" not in render(f"```python\n{long[: MAX_HIGHLIGHTED_CHARACTERS + 1]}\n```")


def test_code_keeps_its_blank_lines() -> None:
    assert "<code>\n\nx\n\n</code>" in render("```\n\n\nx\n\n```")
    assert render("```text\n\n\nx\n\n```").endswith("<code>\n\nx\n\n</code></pre>\n")


def test_definition_at_the_end_changes_nothing_above() -> None:
    assert render("See [this].\n\n[this]: https://example.org").startswith("<p>See [this].</p>")


def test_too_long_text_is_left_to_the_caller() -> None:
    assert MARKDOWN.render("x" * (MAX_RENDERED_CHARACTERS + 1)) is None
    assert MARKDOWN.render("[" * (MAX_BRACKETS + 1)) is None
    assert isinstance(MARKDOWN.render("x"), SafeHtml)


def test_too_deep_text_is_left_to_the_caller_instead_of_losing_its_end() -> None:
    assert "<li>x</li>" in render("- " * 9 + "x\n\nthe end")
    assert MARKDOWN.render("- " * 12 + "x\n\nthe end") is None
    assert MARKDOWN.render("> " * 22 + "x\n\nthe end") is None


PATHOLOGICAL = ["[", "![", "*a_ ", "> ", "`", "- ", "<", "a\n", "**", "&#", "[a](", "![a](", "~~", "|a", "http://a "]


def calls_for(text: str) -> int:
    """How many function calls rendering takes: a cost that is the same on every machine."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        MARKDOWN.render(text)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("piece", PATHOLOGICAL)
def test_pathological_text_is_refused_above_the_limits(piece: str) -> None:
    count = MAX_BRACKETS if "[" in piece else MAX_RENDERED_CHARACTERS // len(piece)
    assert MARKDOWN.render(piece * (count + 1)) is None


@pytest.mark.parametrize("piece", PATHOLOGICAL)
def test_pathological_text_costs_in_proportion_to_its_length(piece: str) -> None:
    assert calls_for(piece * 200) < 3 * calls_for(piece * 100)


ALPHABET = st.sampled_from(
    [*"<>&\"'`*_[]()!#-+|~\\:/= \n\t", "a", "x", "script", "img", "onerror", "javascript:", "```", "http://"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ALPHABET, max_size=60).map("".join))
def test_any_text_becomes_allowed_tags_only(text: str) -> None:
    walked(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_unicode_becomes_allowed_tags_only(text: str) -> None:
    walked(text)
