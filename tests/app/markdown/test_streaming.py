"""Any text in any pieces: what a reader sees while it comes, and that it is the whole text's HTML in the end."""

import re
import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.markdown import BlockStreamer, Markdown, SafeHtml
from app.markdown.blocks import Blocks
from app.markdown.preview import CARET
from app.markdown.rendering import MAX_BRACKETS, MAX_RENDERED_CHARACTERS
from app.markdown.streaming import Block, Change, Code, Plain, Preview
from tests.app.markdown.corpus import LINKS, MATH, SCRIPTS
from tests.app.markdown.test_rendering import walk

MARKDOWN = Markdown()
BLOCKS = Blocks()
STREAMER = BlockStreamer(MARKDOWN)

PIECES = st.sampled_from(
    [
        *(
            "word",
            "two words",
            "\n",
            "\n",
            "\n\n",
            "- ",
            "* ",
            "1. ",
            "2) ",
            "> ",
            "```",
            "``",
            "`",
            "~~~",
            "~~",
            "*",
            "**",
        ),
        *(
            "|",
            "|-|",
            "|a|b|\n|-|-|\n",
            "---",
            "===",
            "# ",
            "  ",
            "    ",
            "\t",
            "\r",
            "\r\n",
            "[x](y)",
            "- [ ] ",
            "![i](u)",
        ),
        *("$", "$$", "$$\n", "\n$$\n", "$x^2$", "\\frac{a}{b}", "5"),
        *("\\(", "\\)", "\\[", "\\]", "\\[\n", "\n\\]\n", "\\[ x", "\\(x^2\\)", "\\[ x \\]"),
        *("<b>", "\\", "=", "-", "+", "[", "😀", "끝"),
    ]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.lists(st.sampled_from(SCRIPTS + LINKS + MATH)).map("\n\n".join)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def pieces_of(text: str, data: st.DataObject) -> list[str]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def streamed(pieces: list[str], *, previews: bool = True) -> list[Change]:
    stream = STREAMER.begin()
    changes: list[Change] = []
    for piece in pieces:
        stream.take(piece)
        changes += stream.advance() if stream.due else []
        changes += stream.preview() if stream.hidden and previews else []
    return changes + stream.finish()


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.data())
def test_blocks_of_any_pieces_are_the_html_of_the_whole(text: str, data: st.DataObject) -> None:
    changes = streamed(pieces_of(text, data))
    end, html = 0, ""
    for change in changes:
        assert not isinstance(change, Plain)
        assert change.start == end
        if isinstance(change, Block):
            assert change.start < change.end <= units(text)
            end, html = change.end, html + change.html
    assert html == MARKDOWN.render(text)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.data())
def test_finished_blocks_stay_whatever_follows(text: str, data: st.DataObject) -> None:
    cuts = BLOCKS.cuts(text, final=True)
    begun = BLOCKS.cuts(text[: data.draw(st.integers(0, len(text)))])
    assert begun == cuts[: len(begun)]


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.data())
def test_a_snapshot_is_cut_where_the_stream_goes_on(text: str, data: st.DataObject) -> None:
    so_far = text[: data.draw(st.integers(0, len(text)))]
    snapshot = STREAMER.snapshot(so_far)
    assert snapshot.end + units(snapshot.tail) == units(so_far)
    rest = [change for change in streamed([text]) if isinstance(change, Block) and change.end > snapshot.end]
    assert rest == [] or rest[0].start == snapshot.end
    assert "".join([snapshot.finished, *(block.html for block in rest)]) == MARKDOWN.render(text)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.data())
def test_all_that_is_ever_shown_has_allowed_tags_only(text: str, data: st.DataObject) -> None:
    for change in streamed(pieces_of(text, data)):
        if isinstance(change, Block | Preview):
            walk(change.html)
        if isinstance(change, Preview):
            assert change.html.count(CARET) <= 1


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.data())
def test_any_unicode_in_any_pieces_is_the_html_of_the_whole(text: str, data: st.DataObject) -> None:
    blocks = [change for change in streamed(pieces_of(text, data)) if isinstance(change, Block)]
    assert "".join(block.html for block in blocks) == MARKDOWN.render(text)


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("a paragraph\n", ""),
        ("a paragraph\n\n", "a paragraph\n"),
        ("a paragraph\n===\n", "a paragraph\n===\n"),
        ("# Title\n", "# Title\n"),
        ("# a | b\n", ""),
        ("# a | b\n\n", "# a | b\n"),
        ("- one\n\n", ""),
        ("- one\n\nx", ""),
        ("- one\n\nx\n", "- one\n\n"),
        ("> quote\n", ""),
        ("> quote\n\n", "> quote\n"),
        ("| a |\n|---|\n| 1 |\n", ""),
        ("| a |\n|---|\n| 1 |\n\n", "| a |\n|---|\n| 1 |\n"),
        ("```\nx\n", ""),
        ("```\nx\n```", ""),
        ("```\nx\n```\n", "```\nx\n```\n"),
        ("```\nx\n```\r", ""),
        ("    code\n\n", ""),
        ("---\n", "---\n"),
        ("[a]: https://example.org\n\n", "[a]: https://example.org\n"),
        ("<div>\n\n", "<div>\n"),
        ("$$\nx\n", ""),
        ("$$\nx\n\n", "$$\nx\n"),
        ("$$\nx\n$$", ""),
        ("$$\nx\n- y\n$$\n", "$$\nx\n- y\n$$\n"),
        ("so\n$$\n", "so\n"),
        ("\\[\nx\n- y\n\\]\n", "\\[\nx\n- y\n\\]\n"),
        ("\\[ x\n+ y\n", ""),
        ("so\n\\[ x \\]\n", "so\n\\[ x \\]\n"),
        ("\\[ x \\] and\n", ""),
    ],
)
def test_a_block_is_finished_when_nothing_can_change_it(text: str, finished: str) -> None:
    assert BLOCKS.split(text) == (finished, text[len(finished) :])


def test_code_goes_straight_into_its_box() -> None:
    changes = streamed([*"Say:\n\n```py x\nif x:\n  ``\n``", "`\nend\n"])
    kinds = [type(change) for change in changes]
    code = changes[kinds.index(Code)]
    assert code == Code(start=5, code_start=14, language="py", fence="```")
    assert Preview not in kinds[kinds.index(Code) : kinds.index(Block, kinds.index(Code))]
    assert kinds.count(Code) == 1


@pytest.mark.parametrize("text", ["so **bold ", "done\n\n- a\n- `b", "| a | b"])
def test_snapshot_marks_where_words_go_on(text: str) -> None:
    stream = STREAMER.begin()
    stream.take(text)
    stream.advance()
    [preview] = stream.preview()
    assert isinstance(preview, Preview)
    assert CARET in preview.html
    assert STREAMER.snapshot(text).preview == preview.html.replace(CARET, SafeHtml("<span data-caret></span>"))


def test_snapshot_without_a_place_for_words_marks_none() -> None:
    assert STREAMER.snapshot("a [link").preview == "<p>a link</p>\n"
    assert STREAMER.snapshot(f"a{CARET} b").preview == f"<p>a{CARET} b</p>\n"


def test_snapshot_in_mid_code_leaves_a_possible_closing_fence_out() -> None:
    assert STREAMER.snapshot("😀\n\n~~~js\na = `\n~~").code_text == "a = `\n"
    assert STREAMER.snapshot("😀\n\n~~~js\na = `\n~~").code == Code(3, 10, "js", "~~~")
    assert STREAMER.snapshot("```\na\n\n").code_text == "a\n\n"
    assert STREAMER.snapshot("```\na\n```\nb").code is None


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("so **bold te", f"<p>so <strong>bold te{CARET}</strong></p>\n"),
        ("so **bold ", f"<p>so <strong>bold {CARET}</strong></p>\n"),
        ("a *b **c `d", f"<p>a <em>b <strong>c <code>d{CARET}</code></strong></em></p>\n"),
        ("a ~~b", f"<p>a <s>b{CARET}</s></p>\n"),
        ("a **", "<p>a</p>\n"),
        ("a `", "<p>a</p>\n"),
        ("snake_case and 2 * 3", f"<p>snake_case and 2 * 3{CARET}</p>\n"),
        ("`*` and `**", f"<p><code>*</code> and <code>**{CARET}</code></p>\n"),
        ("see [the te", "<p>see the te</p>\n"),
        ("see [the text](https://exa", "<p>see the text</p>\n"),
        ("![a cat](https://exa", ""),
        ("text\n-", "<p>text</p>\n"),
        ("text\n## ", "<p>text</p>\n"),
        ("text\n\n```py", "<p>text</p>\n"),
        ("- a\n- ", "<ul>\n<li>a</li>\n</ul>\n"),
        ("- a\n- **b", f"<ul>\n<li>a</li>\n<li><strong>b{CARET}</strong></li>\n</ul>\n"),
        ("2", ""),
        ("2.", ""),
        ("&am", ""),
        ("<https://exa", ""),
        ("so $\\frac{a", "<p>so</p>\n"),
        ("so $$", "<p>so</p>\n"),
        ("so $$x_1 + [", "<p>so</p>\n"),
        ("a **b $x", "<p>a <strong>b</strong></p>\n"),
        ("$$\nx^2", ""),
        ("- a\n  $$\n  x", "<ul>\n<li>a</li>\n</ul>\n"),
        ("it costs $5 and *more", f"<p>it costs $5 and <em>more{CARET}</em></p>\n"),
        ("`$x", f"<p><code>$x{CARET}</code></p>\n"),
        ("so \\(\\frac{a", "<p>so</p>\n"),
        ("so \\", "<p>so</p>\n"),
        ("a **b \\[ x", "<p>a <strong>b</strong></p>\n"),
        ("\\[\nx^2", ""),
        ("\\[ x^2 \\", ""),
        ("`\\(x", f"<p><code>\\(x{CARET}</code></p>\n"),
        ("a \\(x\\) *b", f'<p>a <math display="inline"><mrow><mi>x</mi></mrow></math> <em>b{CARET}</em></p>\n'),
    ],
)
def test_preview_shows_no_bare_markup(text: str, html: str) -> None:
    stream = STREAMER.begin()
    stream.take(text)
    assert [change.html for change in stream.preview() if isinstance(change, Preview)] == [html]


def test_preview_makes_a_table_of_its_first_line() -> None:
    stream = STREAMER.begin()
    shown: list[SafeHtml] = []
    for piece in ("| Name |", " ", "Va", "lue |\n", "|--", "-|---|\n", "| x | *y"):
        stream.take(piece)
        shown = [change.html for change in stream.preview() if isinstance(change, Preview)] or shown
        assert re.fullmatch(r"<table>.*</table>\n", shown[0], re.DOTALL)
    assert f"<td>x</td>\n<td><em>y{CARET}</em></td>" in shown[0]


def test_words_behind_a_caret_need_no_further_preview() -> None:
    stream = STREAMER.begin()
    stream.take("Some words")
    assert stream.hidden
    assert stream.preview()
    stream.take(" and more, in (brackets): 1 + 2 = 3.")
    assert not stream.hidden
    stream.take(" **")
    assert stream.hidden


@pytest.mark.parametrize("text", ["x " * MAX_RENDERED_CHARACTERS, "[" * (MAX_BRACKETS + 1), "- " * 12 + "x\n\ny\n"])
def test_what_cannot_be_rendered_becomes_plain_once(text: str) -> None:
    changes = streamed(["Begun\n\n", text, "\n\nmore"], previews=False)
    assert [type(change) for change in changes] == [Block, Plain]
    assert STREAMER.snapshot(f"Begun\n\n{text}\n\nmore").plain


def calls_for(pieces: list[str]) -> int:
    """How many function calls streaming without previews takes: a cost that is the same on every machine."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        streamed(pieces, previews=False)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "line",
    [
        *(
            "word\n",
            "- item **x**\n",
            "paragraph\n\n",
            "> quote\n",
            "| a | b |\n|---|---|\n",
            "```\ncode\n```\n",
            "# x\n",
        ),
        *("    code\n", "a `b\n", "1. a\n\n   b\n\n", "a $b\n", "a $x$ b\n", "$$\nx\n$$\n", "$$\n"),
        *("a \\(b\n", "a \\(x\\) b\n", "\\[\nx\n\\]\n", "\\[ x\n"),
    ],
)
def test_streaming_costs_in_proportion_to_the_text(line: str) -> None:
    piece = line * (200 // len(line))
    assert calls_for([piece] * 80) < 2.9 * calls_for([piece] * 40)
