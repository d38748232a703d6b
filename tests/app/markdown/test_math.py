"""TeX in answers: MathML where it is right, its source where it is not, and money that stays money."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.markdown import Markdown
from app.markdown.math import MAX_TEX_CHARACTERS, MAX_TEX_NESTING, mathml
from app.markdown.sanitizing import ALLOWED_TAGS
from tests.app.markdown.corpus import MATH
from tests.app.markdown.test_rendering import walk

MARKDOWN = Markdown()
X = '<math display="inline"><mrow><mi>x</mi></mrow></math>'
X_ALONE = '<math display="block"><mrow><mi>x</mi></mrow></math>'


def render(text: str) -> str:
    html = MARKDOWN.render(text)
    assert html is not None
    return html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("$x$", f"<p>{X}</p>\n"),
        ("$x$ and 5", f"<p>{X} and 5</p>\n"),
        ("값은 $x$이다", f"<p>값은 {X}이다</p>\n"),
        ("so $$ x $$ alone", f"<p>so {X_ALONE} alone</p>\n"),
        ("$$\nx\n$$", f"<p>{X_ALONE}</p>\n"),
        ("$$\nx$$", f"<p>{X_ALONE}</p>\n"),
        ("so\n$$\nx\n$$\nand", f"<p>so</p>\n<p>{X_ALONE}</p>\n<p>and</p>\n"),
        ("> $$\n> x\n> $$\n", f"<blockquote>\n<p>{X_ALONE}</p>\n</blockquote>\n"),
        ("`$x$`", "<p><code>$x$</code></p>\n"),
        ("값은 \\(x\\)이다", f"<p>값은 {X}이다</p>\n"),
        ("\\( x \\) and \\(\nx\n\\)", f"<p>{X} and {X}</p>\n"),
        ("so \\[ x \\] alone", f"<p>so {X_ALONE} alone</p>\n"),
        ("\\[ x \\]", f"<p>{X_ALONE}</p>\n"),
        ("\\[\nx\n\\]", f"<p>{X_ALONE}</p>\n"),
        ("so\n\\[ x\n\\]\nand", f"<p>so</p>\n<p>{X_ALONE}</p>\n<p>and</p>\n"),
        ("> \\[\n> x\n> \\]\n", f"<blockquote>\n<p>{X_ALONE}</p>\n</blockquote>\n"),
        ("- so\n  \\[ x \\]\n", f"<ul>\n<li>so<p>{X_ALONE}</p>\n</li>\n</ul>\n"),
        ("`\\(x\\)` and ``\\[ x \\]``", "<p><code>\\(x\\)</code> and <code>\\[ x \\]</code></p>\n"),
        ("```\n\\[ x \\]\n\\(x\\)\n```", '<pre dir="ltr"><code>\\[ x \\]\n\\(x\\)\n</code></pre>\n'),
        ("\\\\(x\\\\)", "<p>\\(x\\)</p>\n"),
        ("\\$x\\$", "<p>$x$</p>\n"),
    ],
)
def test_math_is_mathml(text: str, html: str) -> None:
    assert render(text) == html


@pytest.mark.parametrize(
    "text",
    [
        "It is $5 and $6.",
        "From $5-$10, or $1,000.",
        "$ x $",
        "A $20/$30 split",
        "$HOME and $PATH",
        "Only one $ here",
        "US$5 to US$6",
    ],
)
def test_money_and_single_dollars_stay_text(text: str) -> None:
    assert render(text) == f"<p>{text}</p>\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"\[citation needed\]", "[citation needed]"),
        (r"see \[1\] and \[a\](b)", "see [1] and [a](b)"),
        (r"\[ \] to do", "[ ] to do"),
        (r"\[ \]", "[ ]"),
        (r"\( \)", "( )"),
        (r"f\(x", "f(x"),
        (r"\[see below", "[see below"),
    ],
)
def test_escaped_brackets_stay_text(text: str, shown: str) -> None:
    assert render(text) == f"<p>{shown}</p>\n"


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{",
        r"\unknowncommand x",
        r"\left( x",
        "a & b",
        r"x_1_2",
        r"\newcommand{\a}{x} \a",
        r"\def\a{x} \a",
        "x" * (MAX_TEX_CHARACTERS + 1),
        "{" * (MAX_TEX_NESTING + 1) + "x" + "}" * (MAX_TEX_NESTING + 1),
    ],
)
def test_wrong_or_too_large_tex_is_shown_as_its_source(tex: str) -> None:
    shown = tex.replace("&", "&amp;")
    assert render(f"${tex}$") == f"<p><code>${shown}$</code></p>\n"
    assert render(f"$$\n{tex}\n$$") == f'<pre dir="ltr"><code>$$\n{shown}\n$$\n</code></pre>\n'
    assert render(f"\\[\n{tex}\n\\]") == f'<pre dir="ltr"><code>\\[\n{shown}\n\\]\n</code></pre>\n'
    if len(tex) <= MAX_TEX_CHARACTERS:
        assert render(f"\\({tex}\\)") == f"<p><code>\\({shown}\\)</code></p>\n"


def test_lines_of_math_without_an_end_are_shown_as_their_source_up_to_a_blank_line() -> None:
    assert render("\\[\nx\n\nmore") == '<pre dir="ltr"><code>\\[\nx\n</code></pre>\n<p>more</p>\n'
    assert render("$$\nx\n\nmore") == '<pre dir="ltr"><code>$$\nx\n</code></pre>\n<p>more</p>\n'


@pytest.mark.parametrize("text", MATH)
def test_math_brings_no_link_script_or_style(text: str) -> None:
    html = render(text)
    assert walk(html).links == []
    assert not re.search(r"<[^>]*(?:javascript|position)", html)


def test_text_in_math_is_no_html() -> None:
    html = render(r"$\text{<b>x</b>}$")
    assert "<mtext>&lt;b&gt;x&lt;/b&gt;</mtext>" in html


def test_lengths_stay_small() -> None:
    assert '<mspace width="1em">' in render(r"$\quad x$")
    assert "<mspace></mspace>" in render(r"$\hspace{900em} x$")
    assert "<mspace></mspace>" in render(r"$\hspace{-90em} x$")


@pytest.mark.parametrize(
    "tex",
    [
        *(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", r"\begin{cases} 1 & x > 0 \\ 0 & x \end{cases}"),
        *(r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\lim_{x \to 0} \frac{\sin x}{x}", r"\binom{n}{k}"),
        *(r"\sqrt[3]{x} \ne \hat{y} \cdot \vec{z}", r"\mathbb{R} \subset \mathcal{C}", r"\boxed{x} \, \phantom{y}"),
    ],
)
def test_the_sanitiser_takes_nothing_from_usual_math(tex: str) -> None:
    made = mathml(tex, display=True)
    assert made is not None
    assert set(re.findall(r"<(\w+)", made)) <= ALLOWED_TAGS
    assert re.findall(r"<(\w+)", render(f"$$\n{tex}\n$$"))[1:] == re.findall(r"<(\w+)", made)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*r"\{}[]_^&$x1<>", r"\frac", r"\left(", r"\right)", r"\sqrt", "\n"])))
def test_any_tex_is_rendered_to_allowed_elements(pieces: list[str]) -> None:
    walk(render(f"a ${''.join(pieces)}$ b"))
