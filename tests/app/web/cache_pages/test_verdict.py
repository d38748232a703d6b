"""The sentence that says what a conversation lost, and of which turns nothing can be said."""

from typing import Any

from app.cache_outcomes import Outcome
from app.reports import TurnRow
from app.web.cache_pages.verdict import lost_seconds, verdict_of
from app.web.languages import load_languages
from tests.app.web.figures import counted, figures, row

ENGLISH, KOREAN = (load_languages()[tag] for tag in ("en", "ko"))


def lost(number: int, tokens: int, outcome: Outcome = Outcome.EVICTED, **changes: Any) -> TurnRow:
    turn = counted(tokens + 10, 5, shortfall_tokens=tokens, outcome=outcome, fault=outcome.is_fault, backend="east",
                   **changes)  # fmt: skip
    return row(number, turn)


def hits(*numbers: int) -> list[TurnRow]:
    return [row(number, counted(10, 100, shortfall_tokens=0, outcome=Outcome.HIT, fault=False)) for number in numbers]


def test_worst_turns_are_named_with_their_causes() -> None:
    rows = [*hits(1, 2), lost(3, 3110, Outcome.RESTARTED), *hits(4), lost(5, 6010)]
    assert verdict_of(rows, {"east": 1983.0}, ENGLISH) == (
        "2 of 5 turns lost 9,120 tokens (about 4.60 s): turn 5 evicted 6,010, turn 3 restarted 3,110;"
        " the rest reused all that was possible."
    )
    assert verdict_of(rows, {"east": 1983.0}, KOREAN).startswith("턴 5개 중 2개")


def test_seconds_are_told_only_where_every_speed_was_measured() -> None:
    rows = [lost(1, 100), row(2, counted(60, 0, shortfall_tokens=50, outcome=Outcome.EVICTED, fault=True))]
    assert verdict_of(rows, {"east": 100.0}, ENGLISH).startswith("2 of 2 turns lost 150 tokens: turn 1")
    assert lost_seconds(rows[:1], {"east": 50.0}) == 2.0
    assert lost_seconds(rows, {"east": 50.0}) is None


def test_only_the_worst_are_named() -> None:
    words = verdict_of([lost(number, 1000 - number) for number in range(1, 9)], {}, ENGLISH)
    assert words.startswith("8 of 8 turns lost 7,964 tokens: turn 1 evicted 999, turn 2")
    assert "turn 5 evicted 995, 3 more;" in words
    assert "1 more" not in verdict_of([lost(number, 9) for number in range(1, 6)], {}, ENGLISH)


def test_nothing_lost() -> None:
    assert verdict_of(hits(1), {}, ENGLISH) == "Nothing lost in 1 turn."
    assert verdict_of(hits(1, 2), {}, ENGLISH) == "Nothing lost in 2 turns."


def test_what_was_on_purpose_rounded_or_not_reported_is_said() -> None:
    on_purpose = lost(2, 700, Outcome.MODEL_SWITCHED)
    rows = [*hits(1), on_purpose, lost(3, 15, Outcome.BLOCK_ROUNDING), row(4, figures())]
    assert verdict_of(rows, {}, ENGLISH) == (
        "Nothing lost in 4 turns; 700 tokens computed again on purpose,"
        " 15 tokens missed by rounding or without a known cause, 1 turn without figures."
    )
    assert verdict_of([lost(1, 5), on_purpose], {}, ENGLISH).endswith("; 700 tokens computed again on purpose.")


def test_turns_without_any_figures_have_lost_nothing_that_is_known() -> None:
    assert verdict_of([row(1, figures()), row(2, figures())], {}, ENGLISH) == "2 turns without figures."
