"""Every word of every page goes through the catalog."""

import pytest

from app.web.pages import templates_folder
from tests.app.web.template_words import bare_words

TEMPLATES = sorted(path.relative_to(templates_folder()).as_posix() for path in templates_folder().rglob("*.html"))


def test_no_template_has_words_that_nobody_can_translate() -> None:
    assert len(TEMPLATES) > 30
    found = {name: bare_words((templates_folder() / name).read_text()) for name in TEMPLATES}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<h1>Hello there</h1>", ["1: Hello there"]),
        ('<p>{{ _("Hello") }}</p>\n<p>{% if x %}Bye{% endif %}</p>', ["2: Bye"]),
        ('<button title="Close it" aria-label="{{ _("Close") }}">×</button>', ["1: Close it"]),
        ('<input type="text"\n  placeholder="Your name" value="{{ x }}">', ["1: Your name"]),
        ('<input type="submit" value="Send">', ["1: Send"]),
        ('<img src="/x" alt="A cat">', ["1: A cat"]),
        ('<p data-failed="That did not work.">', ["1: That did not work."]),
        ('<p>{{ "Yes" if x else _("No") }}</p>', ["1: Yes"]),
        ('{{ entry("Written", _("Tokens")) }}', ["1: Written"]),
        ("{% block title %}Sign in{% endblock %}", ["1: Sign in"]),
        ("<p>검색</p>", ["1: 검색"]),
        ("<p>Go to\n  Recount</p>", ["1: Go to"]),
    ],
)
def test_bare_words_are_found(source: str, words: list[str]) -> None:
    assert bare_words(source) == words


@pytest.mark.parametrize(
    "source",
    [
        '<a class="brand" href="/">Recount</a> <title>{{ x }} · Recount</title>',
        '<p class="big red" data-state="{{ "running" if x else "idle" }}">‹ {{ x }}/7 · – ({{ _("s") }})</p>',
        '{{ press("continue", _("Go on"), shown, "action strong") }}',
        '{{ ngettext("%(num)s file", "%(num)s files", count) }}',
        "{# A word for those who read this #}<p>{{ language.number(x) }}%</p>",
        '{% set title = _("Archive") if x == "archived" else _("All") %}<option value="user">{{ _("user") }}</option>',
        '{% block body_class %}plain-page{% endblock %}<p>{{ _("a") if x == "operator" else y }}</p>',
        "<dt><kbd>Shift</kbd> + <kbd>Enter</kbd></dt>",
        '{% macro mark(name) %}aria-describedby="{{ name }}-hint"{% endmacro %}',
        '<div data-backend="/backend" data-max="{{ most }}">{{ rows|map(attribute="id")|join(", ") }}</div>',
    ],
)
def test_what_is_translated_or_no_word_is_left_alone(source: str) -> None:
    assert bare_words(source) == []
