"""Choosing a language, and numbers and times in it."""

from datetime import UTC, datetime

import pytest

from app.web.languages import chosen_tag, load_languages


@pytest.mark.parametrize(
    ("account_locale", "header", "tag"),
    [
        (None, "", "en"),
        (None, "ko", "ko"),
        (None, "ko-KR,ko;q=0.9,en;q=0.8", "ko"),
        (None, "fr-FR, en;q=0.5, ko;q=0.7", "ko"),
        (None, "ko;q=0, en", "en"),
        (None, "ko;q=nonsense, de", "en"),
        ("ko", "en", "ko"),
        ("ko_KR", "en", "ko"),
        ("fr", "ko", "en"),
    ],
)
def test_chosen_tag(account_locale: str | None, header: str, tag: str) -> None:
    assert chosen_tag(account_locale, header) == tag


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (1180, 1234, "96%"),
        (0, 10, "0%"),
        (10, 10, "100%"),
        (0, 0, "0%"),
        (1, 100, "1%"),
        (99, 100, "99%"),
        (4, 1846, "<1%"),
        (1, 10000, "<1%"),
        (991, 1000, ">99%"),
        (9999, 10000, ">99%"),
    ],
)
def test_percent_says_nothing_and_all_only_when_it_is(part: int, whole: int, words: str) -> None:
    assert {language.percent(part, whole) for language in load_languages().values()} == {words}


def test_seconds_and_moments_follow_the_language() -> None:
    languages = load_languages()
    at = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert languages["en"].seconds(12_345) == "12.3 s"
    assert languages["ko"].seconds(999) == "1.00초"
    assert languages["en"].moment(at, "Europe/Berlin").endswith("CEST")
    assert "오전 10:30" in languages["ko"].moment(at, "Asia/Seoul")
