"""CommonMark with tables, strikethrough and task lists to sanitised HTML.

Raw HTML, bare-link detection and reference definitions are off: a definition far below would change text that
stands above it. Images are never loaded; a note and their alternative text stand in for them.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup
from mdit_py_plugins.tasklists import tasklists_plugin

from app.markdown.highlighting import code_block
from app.markdown.sanitizing import BLOCKED_IMAGE_CLASS, make_cleaner

# Rendering time grows with the square of unclosed brackets, so both limits are needed.
MAX_RENDERED_CHARACTERS = 60_000
MAX_BRACKETS = 2_000


class SafeHtml(Markup):
    """HTML that came out of the sanitiser. Nothing else in the app makes HTML out of stored text."""


class Markdown:
    """The renderer; stateless between calls, so that one object serves all worker threads."""

    def __init__(self) -> None:
        self._parser = MarkdownIt("js-default", {"html": False, "linkify": False, "maxNesting": 20})
        self._parser.disable(["reference", "linkify"])
        self._parser.use(tasklists_plugin)
        for name, rule in _RULES.items():
            self._parser.add_render_rule(name, rule)
        self._cleaner = make_cleaner()

    def render(self, text: str, image_note: str) -> SafeHtml | None:
        """The text as HTML, or None where it is too long to render: the caller then shows it as plain text.

        image_note: words that stand before the alternative text of an image that was not loaded.
        """
        if len(text) > MAX_RENDERED_CHARACTERS or text.count("[") > MAX_BRACKETS:
            return None
        html = self._parser.render(text, {"image_note": image_note})
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
    words = ": ".join(part for part in (env["image_note"], alternative) if part)
    return f'<span class="{BLOCKED_IMAGE_CLASS}">[{escape(words)}]</span>'


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


_RULES = {
    "fence": _fence,
    "code_block": _indented_code,
    "image": _blocked_image,
    "html_inline": _task_box,
    "th_open": _aligned_cell,
    "td_open": _aligned_cell,
}
