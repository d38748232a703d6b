"""Source code to HTML with Pygments' short class names, one span per token; no inline styles.

The language is only ever the one that the fence names; it is never guessed.
"""

from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

MAX_HIGHLIGHTED_CHARACTERS = 20_000
MAX_LANGUAGE_CHARACTERS = 24


def code_block(source: str, fence_info: str) -> str:
    """One `pre` element. Unknown languages and very long sources are shown without colours."""
    language = language_of(fence_info)
    label = f' data-language="{escape(language)}"' if language else ""
    return f'<pre dir="ltr"{label}><code>{_coloured(source, language)}</code></pre>\n'


def language_of(fence_info: str) -> str:
    """The word that names the language; "" where the fence names none."""
    return fence_info.split(maxsplit=1)[0][:MAX_LANGUAGE_CHARACTERS] if fence_info.strip() else ""


def _coloured(source: str, language: str) -> str:
    if not language or len(source) > MAX_HIGHLIGHTED_CHARACTERS:
        return escape(source)
    try:
        # Pygments would otherwise strip and add newlines; the code is to be shown as it was written.
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(source)
    html: str = highlight(source, lexer, HtmlFormatter(nowrap=True))
    return html
