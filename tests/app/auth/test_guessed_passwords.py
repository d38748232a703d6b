import pytest

from app.auth.guessed_passwords import is_easily_guessed


@pytest.mark.parametrize(
    "password",
    [
        "password", "Password1", "P@ssw0rd!", "passw0rd", "letmein123", "iloveyou2", "admin2024", "welcome1!",
        "12345678", "87654321", "123456789012", "abcd1234", "qwerty123", "asdfghjkl", "1q2w3e4r", "1qaz2wsx",
        "zxcvbnm1",
        "11111111", "12341234", "abababab", "monkeymonkey", "trustno1", "가나다라마바사아", "anna1990", "ANNA!!!!",
    ],
)  # fmt: skip
def test_first_guesses_are_known(password: str) -> None:
    assert is_easily_guessed(password, "Anna")


@pytest.mark.parametrize(
    "password",
    [
        "correct horse", "a long enough password", "long enough", "tr0ub4dor&3x", "한글비밀번호네요",
        "blue-tiger-eats-kimchi",
        "passwordless is the future", "annapurna base camp", "x7Kq-92fL", "1234 is not enough", "ㅁㅁㄴㅇ라면먹자",
    ],
)  # fmt: skip
def test_others_are_not_judged(password: str) -> None:
    assert not is_easily_guessed(password, "Anna")


def test_one_name_is_no_guess_for_another() -> None:
    assert not is_easily_guessed("berthold1990", "Anna")
    assert is_easily_guessed("berthold1990", "Berthold")
    assert not is_easily_guessed("19901990x1", "1")
