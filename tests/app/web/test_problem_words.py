"""What stands under an answer that did not end well."""

import pytest

from app.web.languages import load_languages
from app.web.problem_words import problem_words, translated
from tests.app.web.figures import figures

UNREACHABLE = "The model server cannot be reached."


@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        ("completed", None, None),
        ("stopped", None, None),
        ("failed", UNREACHABLE, UNREACHABLE),
        ("failed", None, "The answer failed."),
        ("interrupted", UNREACHABLE, f"{UNREACHABLE} What had arrived is kept."),
        ("interrupted", None, "What had arrived is kept."),
    ],
)
def test_problem_words(status: str, message: str | None, words: str | None) -> None:
    turn = figures(status=status, error_message=message)
    assert problem_words(turn, load_languages()["en"]) == words


def test_numbers_move_to_where_the_language_wants_them() -> None:
    korean = load_languages()["ko"]
    assert translated("33,000 characters; at most 32,000 are possible.", korean) == (
        "33,000자입니다. 32,000자까지 쓸 수 있습니다."
    )
    assert translated("Nobody has translated this 100% sure.", korean) == "Nobody has translated this 100% sure."
