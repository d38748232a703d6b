"""The sentence on top of the overview, in both languages and in every state."""

import pytest

from app.cache_outcomes import Outcome
from app.reports.overview import Problem, Rate, Sum, Tiles
from app.web.languages import load_languages
from app.web.operator.costs import cost_of, seconds_words
from app.web.operator.verdict import verdict_of
from tests.app.web.operator.values import problem, tiles

LANGUAGES = load_languages()
LOSSES = [
    problem(Outcome.EVICTED, 300_000, turns=30, is_new=True),
    problem(Outcome.RESTARTED, 100_000, turns=6, is_new=True),
    problem(Outcome.VOLATILE_SYSTEM_PROMPT, 12_300, turns=2),
]


def said(tag: str, faults: list[Problem], read: Tiles | None = None, speed: float | None = 2000.0) -> str:
    speeds = {} if speed is None else {"east": speed}
    return verdict_of(read or tiles(), faults, speeds, LANGUAGES[tag])


def test_losses_are_told_with_their_cost() -> None:
    assert said("en", LOSSES) == "3 causes lost 412,300 tokens (about 206 s of prefill) in 38 turns; 2 are new."
    assert said("en", LOSSES[2:]) == "1 cause lost 12,300 tokens (about 6.2 s of prefill) in 2 turns."
    assert said("ko", LOSSES) == (
        "원인 3가지로 턴 38개에서 토큰 412,300개(프리필 약 206초)를 잃었습니다. 그중 2가지는 새로운 원인입니다."
    )


def test_without_a_measured_speed_there_are_no_seconds() -> None:
    assert said("en", LOSSES, speed=None) == "3 causes lost 412,300 tokens in 38 turns; 2 are new."


def test_seconds_of_a_part_are_a_minimum() -> None:
    known, unknown = problem(lost=4000), problem(lost=1000, backend=None)
    cost = cost_of([known, unknown], {"east": 100.0})
    assert (cost.tokens, cost.seconds, cost.whole) == (5000, 40.0, False)
    assert seconds_words(cost, LANGUAGES["en"]) == "at least 40 s"
    assert seconds_words(cost_of([problem(lost=90_000)], {"east": 100.0}), LANGUAGES["en"]) == "about 15 min"
    assert seconds_words(cost_of([problem(lost=10)], {"east": 100.0}), LANGUAGES["en"]) == "under 1 s"


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (tiles(0), "There is no turn in this period and selection."),
        (tiles(1204), "Nothing lost in 1,204 turns."),
        (tiles(1), "Nothing lost in 1 turn."),
        (tiles(9, hits=Rate(5, 5, 5)), "Nothing lost in 9 turns. 5 of them could have read from the cache."),
        (
            tiles(1, hits=Rate(0, 0, 0), lost=Sum(0, 0)),
            "1 turn, and it could have read nothing from the cache: it was the first of its conversation, or its server"
            " does not say what it read.",
        ),
    ],
)
def test_without_losses_it_says_what_that_stands_on(read: Tiles, words: str) -> None:
    assert said("en", [], read) == words
    assert said("ko", [], read) != words
