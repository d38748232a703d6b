"""The line under an answer, word by word, in both languages."""

from datetime import UTC, datetime

import pytest

from app.conversations.figures import TurnFigures
from app.web.footer import footer_of
from app.web.languages import load_languages
from tests.app.web.figures import counted, figures

WHOLE = counted(
    54, 1180, 210, stop_reason="max_tokens", time_to_first_token_ms=420, duration_ms=4774, expected_read_tokens=1180,
    shortfall_tokens=0, queued_ms=2, admission_ms=18, prefill_ms=400, model="tiny",
    finished_at=datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC),
)  # fmt: skip
ZERO = counted(0, 0, 0, status="stopped", stop_reason=None)
NOTHING = figures()
PARTLY = figures(input_tokens=40, cache_read_input_tokens=19, output_tokens=4)
RUNNING = figures(status="running", stop_reason=None, queued_ms=3)
KILLED = figures(status="interrupted", stop_reason=None, queued_ms=None, model="m", output_tokens=None)
NOT_SENT = figures(status="failed", stop_reason=None, queued_ms=None)

LINES = [
    (
        WHOLE,
        "1,234 prompt tokens, 1,180 from cache (96%), 54 computed · 210 written · first token 0.42 s · 48 tok/s"
        " · stopped at the limit",
        "프롬프트 토큰 1,234, 1,180 캐시 재사용(96%), 54 계산 · 210 작성 · 첫 토큰 0.42초 · 초당 48 토큰"
        " · 한도에서 멈춤",
    ),
    (
        ZERO,
        "0 prompt tokens, 0 from cache (0%), 0 computed · 0 written · stopped by you",
        "프롬프트 토큰 0, 0 캐시 재사용(0%), 0 계산 · 0 작성 · 직접 멈춤",
    ),
    (
        NOTHING,
        "prompt tokens: not reported · written: not reported · finished",
        "프롬프트 토큰: 보고되지 않음 · 작성: 보고되지 않음 · 완료",
    ),
    (
        PARTLY,
        "prompt tokens: not reported, 19 from cache, computed: not reported · 4 written · finished",
        "프롬프트 토큰: 보고되지 않음, 19 캐시 재사용, 계산: 보고되지 않음 · 4 작성 · 완료",
    ),
    (
        RUNNING,
        "prompt tokens: pending · written: pending · running",
        "프롬프트 토큰: 대기 중 · 작성: 대기 중 · 진행 중",
    ),
    (
        NOT_SENT,
        "prompt tokens: not sent · written: not sent · failed",
        "프롬프트 토큰: 보내지 않음 · 작성: 보내지 않음 · 실패",
    ),
]


@pytest.mark.parametrize(("turn", "english", "korean"), LINES)
def test_footer_wording(turn: TurnFigures, english: str, korean: str) -> None:
    languages = load_languages()
    for tag, expected in (("en", english), ("ko", korean)):
        assert " · ".join(footer_of(turn, has_base=False, language=languages[tag], zone="UTC").summary) == expected


def test_footer_of_unreported_hit_is_not_zero_percent() -> None:
    turn = figures(input_tokens=10, cache_creation_input_tokens=5)
    summary = footer_of(turn, has_base=False, language=load_languages()["en"], zone="Asia/Seoul").summary[0]
    assert summary == "prompt tokens: not reported, from cache: not reported, 15 computed"


def test_turn_whose_process_was_killed_was_sent_all_the_same() -> None:
    shown = footer_of(KILLED, has_base=True, language=load_languages()["en"], zone="Asia/Seoul")
    assert "written: not known (ended early)" in shown.summary
    assert "not sent" not in str(shown.details)


@pytest.mark.parametrize(
    ("turn", "prompt", "written"),
    [
        (figures(status="stopped", stop_reason=None), "not known (ended early)", "not known (ended early)"),
        (counted(9, 0, status="stopped", stop_reason=None), "9", "not known (ended early)"),
        (
            figures(status="stopped", stop_reason=None, time_to_first_token_ms=9),
            "not reported",
            "not known (ended early)",
        ),
        (figures(status="interrupted", stop_reason="end_turn"), "not reported", "not reported"),
        (counted(0, 0, 0, status="stopped", stop_reason=None), "0", "0"),
        (NOTHING, "not reported", "not reported"),
        (RUNNING, "pending", "pending"),
        (NOT_SENT, "not sent", "not sent"),
    ],
)
def test_a_server_that_was_cut_off_is_not_said_to_have_kept_silent(
    turn: TurnFigures, prompt: str, written: str
) -> None:
    details = dict(footer_of(turn, has_base=False, language=load_languages()["en"], zone="UTC").details)
    assert (details["Prompt tokens"], details["Written"]) == (prompt, written)


@pytest.mark.parametrize(
    ("turn", "model", "answered"),
    [(NOTHING, "unknown", "unknown"), (RUNNING, "pending", "pending"), (NOT_SENT, "not sent", "unknown")],
)
def test_details_tell_what_is_not_known_of_model_and_time(turn: TurnFigures, model: str, answered: str) -> None:
    details = dict(footer_of(turn, has_base=False, language=load_languages()["en"], zone="UTC").details)
    assert (details["Model"], details["Answered"]) == (model, answered)


def test_stop_reason_is_told_in_words_of_both_languages() -> None:
    languages = load_languages()
    for tag, words in (("en", "stopped at the limit"), ("ko", "한도에서 멈춤")):
        details = footer_of(WHOLE, has_base=True, language=languages[tag], zone="UTC").details
        assert details[-1][1] == words


def test_footer_of_one_token_is_singular() -> None:
    turn = counted(1, 0, 1)
    assert (
        footer_of(turn, has_base=False, language=load_languages()["en"], zone="Asia/Seoul")
        .summary[0]
        .startswith("1 prompt token,")
    )


@pytest.mark.parametrize(
    ("stop_reason", "words"),
    [
        ("stop_sequence", "stopped at a stop text"),
        ("refusal", "declined by the model"),
        ("model_context_window_exceeded", "stopped where the context window ends"),
        ("tool_use", "stopped to use a tool"),
        ("pause_turn", "paused by the model server"),
        ("compaction", "ended: compaction"),
        (None, "ended without a reason"),
    ],
)
def test_footer_names_other_endings(stop_reason: str | None, words: str) -> None:
    turn = counted(1, 0, 1, stop_reason=stop_reason)
    assert footer_of(turn, has_base=False, language=load_languages()["en"], zone="Asia/Seoul").summary[-1] == words


def test_details_hold_every_figure() -> None:
    details = dict(footer_of(WHOLE, has_base=True, language=load_languages()["en"], zone="Asia/Seoul").details)
    assert details == {
        "Model": "tiny",
        "Answered": "Jan 1, 2026, 9:00:05\u202fPM KST",
        "Prompt tokens": "1,234",
        "From cache": "1,180",
        "Expected from cache": "1,180",
        "Shortfall": "0",
        "Cache outcome": "hit. Everything that could be read from the cache was read.",
        "Computed: input": "54",
        "Computed: cache creation": "0",
        "Written": "210",
        "First token": "0.42 s",
        "Queue | admission | prefill": "0.00 s | 0.02 s | 0.40 s",
        "Duration": "4.77 s",
        "Stop reason": "stopped at the limit",
    }


@pytest.mark.parametrize(
    ("turn", "has_base", "expected", "shortfall"),
    [
        (counted(16, 0, 4), False, "none", "none"),
        (counted(16, 0, 4), True, "unknown", "unknown"),
        (counted(16, 0, 4, expected_read_tokens=30, expected_is_minimum=True, shortfall_tokens=15), True, "≥ 30", "15"),
        (figures(expected_read_tokens=30), True, "30", "not reported"),
        (figures(expected_read_tokens=30, status="running"), True, "30", "pending"),
        (figures(expected_read_tokens=30, queued_ms=None), True, "30", "not sent"),
    ],
)
def test_details_tell_kinds_of_expectation_apart(
    turn: TurnFigures, has_base: bool, expected: str, shortfall: str
) -> None:
    details = dict(footer_of(turn, has_base=has_base, language=load_languages()["en"], zone="Asia/Seoul").details)
    assert (details["Expected from cache"], details["Shortfall"]) == (expected, shortfall)


@pytest.mark.parametrize(("turn", "words"), [(NOTHING, "none"), (RUNNING, "pending"), (NOT_SENT, "not sent")])
def test_details_tell_kinds_of_missing_times_apart(turn: TurnFigures, words: str) -> None:
    details = dict(footer_of(turn, has_base=False, language=load_languages()["en"], zone="Asia/Seoul").details)
    assert (details["First token"], details["Duration"]) == (words, words)
