"""Places in a prompt in words: whose text it is, and where in it something became another one."""

import re

from app.web.languages import Language
from app.web.outcome_words import divergence_kind_words

_MESSAGE = re.compile(r"messages\.(\d{1,6})", re.ASCII)


def segment_words(segment: str, language: Language) -> str:
    """Of `system`, `messages.2`, `template`, `answer`; messages count from 1, other names stand as they are."""
    if message := _MESSAGE.fullmatch(segment):
        return language.gettext("message %(n)s", n=language.number(int(message[1]) + 1))
    known = {
        "system": language.gettext("system prompt"),
        "template": language.gettext("chat template"),
        "answer": language.gettext("answer"),
    }
    return known.get(segment, segment)


def divergence_words(where: str | None, offset: int | None, kind: str | None, language: Language) -> str | None:
    """As "system prompt, character 312, looks like a date"; None where no place is known."""
    if where is None:
        return None
    parts = [segment_words(where, language)]
    if offset is not None:
        parts.append(language.gettext("character %(n)s", n=language.number(offset + 1)))
    if kind is not None:
        parts.append(language.gettext("looks like %(kind)s", kind=divergence_kind_words(kind, language)))
    return ", ".join(parts)
