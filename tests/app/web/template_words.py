"""Finds words in a template that stand there bare, and so would be shown in English to every reader."""

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser

from jinja2 import Environment

VISIBLE = frozenset({"title", "aria-label", "aria-description", "aria-valuetext", "placeholder", "alt", "label"})
BUTTONS = frozenset({"submit", "button", "reset"})
TRANSLATING = frozenset({"_", "gettext", "ngettext"})
# The same in every language: the product, what is printed on keys, and each language in its own words.
NAMES = frozenset({"Recount", "English", "한국어"})

_WORD = re.compile(r"[^\W\d_]{2,}")
_SENTENCE = re.compile(r"\s*[A-Z가-힣].* ", re.DOTALL)
_ATTRIBUTES = re.compile(r'(\s*[\w-]+="[^"]*")+\s*')

# A kind and a text, as Jinja's lexer gives them.
_Tokens = Sequence[tuple[str, str]]


def bare_words(source: str) -> list[str]:
    """Texts, and attributes that people see or hear, that no translation goes through; each with its line."""
    finder = _Finder()
    finder.feed("".join(_html_of(source)))
    finder.close()
    return finder.found


def _html_of(source: str) -> Iterator[str]:
    """The template without its logic. Of what is put in, only the words that are shown as they stand there remain."""
    part: list[tuple[str, str]] = []
    in_class = False
    for _, kind, value in Environment(autoescape=True).lex(source):  # type: ignore[no-untyped-call]
        if kind in ("variable_begin", "block_begin"):
            part = []
        elif kind == "variable_end":
            yield from _shown_of(part)
        elif kind == "block_end":
            in_class = _names(part)[:1] == ["block"] and _names(part)[1].endswith("_class")
        elif kind == "data" and not in_class:
            yield value
            continue
        part.append((kind, value))
        yield "\n" * value.count("\n")  # Lines keep their numbers.


def _names(part: _Tokens) -> list[str]:
    return [value for kind, value in part if kind == "name"]


def _shown_of(part: _Tokens) -> Iterator[str]:
    """Words that an expression itself gives, and sentences that it hands to a macro; no names, keys or classes."""
    calls: list[str] = []
    before = ""
    for kind, value in part:
        if kind == "operator" and value in ("(", "[", "{"):
            calls.append(before)
        elif kind == "operator" and value in (")", "]", "}"):
            calls.pop()
        elif kind == "string" and before not in ("==", "!=") and not TRANSLATING.intersection(calls):
            yield f" {value[1:-1]} " if not calls or value[1].isupper() else ""
        before = before if kind == "whitespace" else value


class _Finder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        values = dict(attrs)
        for name, value in attrs:
            said = name in VISIBLE or (name == "value" and values.get("type") in BUTTONS)
            # What our script is to say comes in data attributes: a sentence, not a word for a machine.
            if value and (said or (name.startswith("data-") and _SENTENCE.match(value))):
                self._look(value)

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag != "kbd" and not _ATTRIBUTES.fullmatch(data.strip()):
            self._look(data)

    def _look(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if any(word not in NAMES for word in _WORD.findall(line)):
                self.found.append(f"{self.getpos()[0] + number}: {' '.join(line.split())}")
