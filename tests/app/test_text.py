import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from app.text import clean_answer_text, clean_user_text, first_words, is_blank

any_text = st.text(st.characters(exclude_categories=()))  # Lone surrogates included.


def test_clean_user_text_changes_line_ends_and_nothing_else() -> None:
    text = "  a\r\nb\rc\nd\t e\u0301 \ufeff\u00a0\u2028\x85 \n\n "
    assert clean_user_text(text) == "  a\nb\nc\nd\t e\u0301 \ufeff\u00a0\u2028\x85 \n\n "


def test_clean_text_replaces_what_no_database_can_store() -> None:
    assert clean_user_text("a\x00b\ud83d\ude00c") == "a\ufffdb\ufffd\ufffdc"
    assert clean_answer_text("\ud83d") == "\ufffd"


def test_clean_answer_text_keeps_line_ends() -> None:
    assert clean_answer_text("\n a\r\nb\r \n\n") == "\n a\r\nb\r \n\n"


@given(st.lists(any_text))
def test_clean_answer_text_of_deltas_joins_to_that_of_the_answer(deltas: list[str]) -> None:
    assert "".join(map(clean_answer_text, deltas)) == clean_answer_text("".join(deltas))


@given(any_text)
def test_clean_user_text_is_stable_and_can_be_encoded(text: str) -> None:
    once = clean_user_text(text)
    once.encode()
    assert clean_user_text(once) == once


def test_is_blank_sees_empty_and_white_text_only() -> None:
    assert is_blank("")
    assert is_blank(" \n\t\u00a0")
    assert not is_blank(" . ")


@given(any_text)
def test_first_words_is_one_short_line_without_control_characters(text: str) -> None:
    title = first_words(text, 20)
    assert len(title) <= 20
    assert all(unicodedata.category(character)[0] != "C" for character in title)
    assert title == " ".join(title.split())


def test_first_words_cuts_between_words() -> None:
    assert first_words("What is  the\nweather like today?", 18) == "What is the…"
    assert first_words("short") == "short"
    assert first_words("x" * 30, 10) == "x" * 9 + "…"


def test_first_words_drops_direction_marks() -> None:
    assert first_words("a\u202eb\u200bc") == "abc"


def test_first_words_of_what_could_not_be_stored_are_none() -> None:
    assert first_words("\x00") == first_words("\ufffd \ud83d") == ""
    assert first_words("a\x00b \ufffd c") == "ab c"
