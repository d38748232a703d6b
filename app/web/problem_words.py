"""What went wrong, in the reader's language.

The services say it in English sentences of their own, which are looked up in the catalog here. Nothing that a
model server said is ever among them.
"""

import itertools
import re

from app.conversations.figures import TurnFigures
from app.errors import RecountError
from app.web.languages import Language

_NUMBER = re.compile(r"\d[\d,]*")


def error_words(error: RecountError, language: Language) -> str:
    return translated(error.message, language)


def problem_words(figures: TurnFigures, language: Language) -> str | None:
    """What stands under an answer that did not end well; None under the others."""
    if figures.status not in ("failed", "interrupted"):
        return None
    cause = translated(figures.error_message, language) if figures.error_message else ""
    if figures.status == "failed":
        return cause or language.gettext("The answer failed.")
    return " ".join(filter(None, (cause, language.gettext("What had arrived is kept."))))


def translated(sentence: str, language: Language) -> str:
    """Numbers are taken out for the look-up, and come back as the language writes them."""
    pattern, numbers = without_numbers(sentence)
    values = {f"n{place}": language.number(number) for place, number in enumerate(numbers, 1)}
    return language.gettext(pattern, **values)


def without_numbers(sentence: str) -> tuple[str, list[int]]:
    """The sentence as the catalog has it, and the numbers that stood in the places of its %(n1)s, %(n2)s."""
    numbers = [int(found.replace(",", "")) for found in _NUMBER.findall(sentence)]
    if not numbers:
        return sentence, []
    places = itertools.count(1)
    return _NUMBER.sub(lambda _: f"%(n{next(places)})s", sentence.replace("%", "%%")), numbers
