"""docs/operations.md names every outcome with its group and the words that the pages say."""

from pathlib import Path

import pytest

from app.cache_outcomes import Outcome
from app.web.languages import load_languages
from app.web.outcome_words import outcome_words

DOCUMENT = (Path(__file__).parents[1] / "docs" / "operations.md").read_text()


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_is_documented(outcome: Outcome) -> None:
    words = outcome_words(outcome, load_languages()["en"])
    row = f"| `{outcome}` | {outcome.group} | {words.sentence} | {words.advice} |\n".replace("|  |", "| |")
    assert row in DOCUMENT
