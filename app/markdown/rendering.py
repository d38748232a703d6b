"""Markdown to sanitised HTML, the same for readers of every language.

Images are never loaded: their alternative text stands in for them, and the style sheet adds a note in the
language of the page.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

from app.markdown.highlighting import code_block
from app.markdown.math import mathml
from app.markdown.math_rules import DISPLAYED, END_OF
from app.markdown.parsing import MAX_NESTING, make_parser
from app.markdown.sanitizing import BLOCKED_IMAGE_CLASS, make_cleaner

# Rendering time grows with the square of unclosed brackets, so both limits are needed.
MAX_RENDERED_CHARACTERS = 60_000
MAX_BRACKETS = 2_000
_CONTAINERS = frozenset({"list_item_open", "blockquote_open"})


class SafeHtml(Markup):
    """HTML that came out of the sanitiser. Nothing else in the app makes HTML out of stored text."""


def is_renderable(characters: int, brackets: int) -> bool:
    """Whether a text of that many characters, among them opening brackets, is rendered at all."""
    return characters <= MAX_RENDERED_CHARACTERS and brackets <= MAX_BRACKETS


class Markdown:
    """The renderer; stateless between calls, so that one object serves all worker threads."""

    def __init__(self) -> None:
        self._parser = make_parser()
        for name, rule in _RULES.items():
            self._parser.add_render_rule(name, rule)
        self._cleaner = make_cleaner()

    def render(self, text: str) -> SafeHtml | None:
        """The text as HTML, or None where it is too long or too deep to render: the caller shows it as plain text."""
        if not is_renderable(len(text), text.count("[")):
            return None
        env: dict[str, Any] = {}
        tokens = self._parser.parse(text, env)
        if any(token.level == MAX_NESTING - 1 and token.type in _CONTAINERS for token in tokens):
            return None
        html = self._parser.renderer.render(tokens, self._parser.options, env)
        return SafeHtml(self._cleaner.clean(html))


def _fence(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    return code_block(tokens[index].content, tokens[index].info)


def _indented_code(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    return code_block(tokens[index].content, "")


def _blocked_image(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    alternative = renderer.renderInlineAsText(tokens[index].children, options, env)
    return f'<span class="{BLOCKED_IMAGE_CLASS}">{escape(alternative)}</span>'


def _task_box(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    # Raw HTML is off, so the only inline HTML is the checkbox that the task list plugin made.
    return "☑" if "checked=" in tokens[index].content else "☐"


def _aligned_cell(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    style = str(tokens[index].attrGet("style") or "")
    alignment = style.removeprefix("text-align:")
    chosen = f' class="align-{alignment}"' if alignment else ""
    return f"<{tokens[index].tag}{chosen}>"


def _math_inline(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    content, mark = tokens[index].content, tokens[index].markup
    return mathml(content, display=mark in DISPLAYED) or f"<code>{escape(f'{mark}{content}{END_OF[mark]}')}</code>"


def _math_block(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    content, mark, closed = tokens[index].content, tokens[index].markup, tokens[index].meta["closed"]
    html = mathml(content, display=True) if closed else None
    end = f"\n{END_OF[mark]}" if closed else ""
    return f"<p>{html}</p>\n" if html else code_block(f"{mark}\n{content.rstrip()}{end}\n", "")


_RULES = {
    "math_inline": _math_inline,
    "math_inline_double": _math_inline,
    "math_block": _math_block,
    "fence": _fence,
    "code_block": _indented_code,
    "image": _blocked_image,
    "html_inline": _task_box,
    "th_open": _aligned_cell,
    "td_open": _aligned_cell,
}
