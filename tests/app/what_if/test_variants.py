"""The arithmetic of a what-if, and the bodies that are compared. Neither asks anybody."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversations.tree import Node
from app.models import Turn
from app.verification.rebuilding import rebuild
from app.what_if import Read
from app.what_if.variants import (
    as_it_was,
    clock_at_the_end,
    in_blocks,
    promises,
    read_alone,
    read_behind,
    with_clock,
)
from inference_client import Comparison
from inference_client.inspection import ComparedSide
from tests.app.web.figures import counted, figures

AT = datetime(2026, 11, 30, 5, 3, tzinfo=UTC)
NOTE = "<context-note>Monday 2026-11-30 14:01 +09:00 (Asia/Seoul)</context-note>"
counts = st.integers(0, 3000)


def compared(a: int, b: int, common: int) -> Comparison:
    sides = [ComparedSide(input_tokens=tokens, at_divergence=None) for tokens in (a, b)]
    return Comparison(a=sides[0], b=sides[1], common_tokens=common)


def turn(**values: Any) -> Turn:
    return Turn(**{"kind": "question", "model": "m", "expected_read_tokens": 46, "fault": False, **values})


def message(number: int, role: Any, text: str, note: str | None = None) -> Node:
    parent = UUID(int=number - 1) if number > 1 else None
    return Node(UUID(int=number), parent, number, role, text, note, None, None, AT)


def stored_turn(**values: Any) -> Turn:
    return Turn(
        kind="question", user_message_id=UUID(int=3), system_prompt_id=UUID(int=9), prompt_format=1, model="m",
        params='{"max_tokens": 8}', created_at=AT, **values,
    )  # fmt: skip


NODES = {
    node.id: node
    for node in (
        message(1, "user", "One", "<context-note>Monday 2026-11-30 04:00 +00:00 (UTC)</context-note>"),
        message(2, "assistant", "Answer"),
        message(3, "user", "Two", NOTE),
    )
}


def test_the_time_moves_from_the_questions_to_the_end_of_the_system_prompt() -> None:
    """It is the time of the turn, in the zone of its question; nothing else of the body changes."""
    rebuilt = rebuild(stored_turn(), NODES, {UUID(int=9): "Be nice."}, "scope")
    clocked = with_clock(rebuilt)
    now = "<context-note>Monday 2026-11-30 14:03 +09:00 (Asia/Seoul)</context-note>"
    assert clocked.system_prompt == clocked.body["system"] == f"Be nice.\n\n{now}"
    assert [each["content"] for each in clocked.body["messages"]] == ["One", "Answer", "Two"]  # type: ignore[attr-defined]
    rest = {name: value for name, value in rebuilt.body.items() if name not in ("system", "messages")}
    assert rest == {name: value for name, value in clocked.body.items() if name not in ("system", "messages")}


def test_a_clock_without_a_system_prompt_and_without_a_known_zone() -> None:
    unknown = "<context-note>Monday 2026-11-30 05:03 +00:00 (UTC, the user's time zone is unknown)</context-note>"
    assert clock_at_the_end("", AT, None) == unknown
    nodes = {**NODES, UUID(int=3): message(3, "user", "Two", unknown)}
    assert with_clock(rebuild(stored_turn(), nodes, {UUID(int=9): ""}, None)).body["system"] == unknown
    noteless = {**NODES, UUID(int=3): message(3, "user", "Two")}
    assert with_clock(rebuild(stored_turn(), noteless, {UUID(int=9): ""}, None)).body["system"] == unknown


def test_what_was_reported_is_the_real_column() -> None:
    assert as_it_was(counted(8, 46, shortfall_tokens=3, fault=True)) == Read(54, 46, 3)
    assert as_it_was(counted(8, 46, shortfall_tokens=3, fault=False)) == Read(54, 46, 0)
    assert as_it_was(counted(8, 46)) == Read(54, 46, 0)
    assert as_it_was(figures(input_tokens=8, cache_creation_input_tokens=0)) is None


@pytest.mark.parametrize(("cached", "in_whole_blocks"), [(0, 0), (15, 0), (16, 16), (46, 32), (48, 48)])
def test_blocks_round_down_what_was_read(cached: int, in_whole_blocks: int) -> None:
    read = in_blocks(Read(60, cached, 2), promised=True)
    assert read == Read(60, in_whole_blocks, 2 + cached - in_whole_blocks)


def test_a_turn_that_nothing_was_promised_of_loses_nothing_in_any_way() -> None:
    """It may have read a system prompt that others had left."""
    real = as_it_was(counted(9, 21))
    assert real == Read(30, 21, 0)
    assert in_blocks(real, promised=False) == Read(30, 16, 0)
    assert read_alone(real, compared(30, 35, 9), promised=False) == Read(35, 9, 0)


def test_only_a_base_turn_of_the_same_model_promises_anything() -> None:
    assert promises(turn(), turn())
    assert not promises(turn(), None)
    assert not promises(turn(), turn(model="other"))
    assert not promises(turn(expected_read_tokens=None), turn())


def test_another_clock_ends_the_match_inside_the_system_prompt() -> None:
    base = turn(output_tokens=7)
    worked_example = compared(45, 59, 11)
    read = read_behind(turn(shortfall_tokens=0), base, Read(54, 46, 0), worked_example, same_clock=False)
    assert read == Read(59, 11, 51 - 11)


def test_the_same_clock_leaves_all_to_the_cache_law() -> None:
    """What the comparison shares would count the end token of the answer, or less than the model's own tokens."""
    for common in (52, 47):
        read = read_behind(turn(), turn(output_tokens=7), Read(54, 46, 0), compared(45, 59, common), same_clock=True)
        assert read == Read(59, 51, 0)
    unknown = turn(output_tokens=None)
    assert read_behind(turn(), unknown, Read(54, 40, 0), compared(45, 59, 45), same_clock=True) == Read(59, 45, 0)
    cut = turn(output_tokens=7, stop_reason="stop_sequence")
    assert read_behind(turn(), cut, Read(54, 40, 0), compared(45, 59, 45), same_clock=True) == Read(59, 45, 0)


def test_the_same_question_again_reads_all_but_one_token() -> None:
    question = UUID(int=1)
    base = turn(user_message_id=question, output_tokens=7)
    again = turn(kind="regenerate", user_message_id=question)
    assert read_behind(again, base, Read(40, 39, 0), compared(45, 45, 45), same_clock=True) == Read(45, 44, 0)
    assert read_behind(again, base, Read(40, 39, 0), compared(45, 45, 11), same_clock=False) == Read(45, 11, 33)
    other = turn(kind="regenerate", user_message_id=UUID(int=2))
    assert read_behind(other, base, Read(60, 46, 0), compared(45, 65, 45), same_clock=True) == Read(65, 51, 0)


def test_what_was_gone_would_have_been_gone_and_what_was_meant_is_not_lost() -> None:
    base = turn(output_tokens=7)
    evicted = turn(shortfall_tokens=40, fault=True)
    assert read_behind(evicted, base, Read(54, 6, 40), compared(45, 59, 11), same_clock=False) == Read(59, 6, 45)
    edited = turn(shortfall_tokens=44, fault=False)
    assert read_behind(edited, base, Read(54, 2, 0), compared(45, 59, 2), same_clock=False) == Read(59, 2, 49 - 44)


def test_a_turn_without_a_base_keeps_what_it_shares_with_itself() -> None:
    assert read_alone(Read(30, 12, 0), compared(30, 35, 9), promised=True) == Read(35, 9, 3)
    assert read_alone(Read(30, 5, 0), compared(30, 35, 9), promised=True) == Read(35, 5, 0)


@given(counts, counts, counts, counts, counts, counts, st.booleans(), st.booleans())
def test_every_read_adds_up(
    base_prompt: int, prompt: int, common: int, output: int, cached: int, short: int, fault: bool, same_clock: bool
) -> None:
    real = Read(cached + short + 1, cached, short if fault else 0)
    comparison = compared(base_prompt + 1, prompt + 1, min(common, base_prompt + 1, prompt + 1))
    behind = turn(shortfall_tokens=short, fault=fault)
    base = turn(output_tokens=output or None)
    for read in (
        in_blocks(real, promised=True),
        read_alone(real, comparison, promised=True),
        read_behind(behind, base, real, comparison, same_clock=same_clock),
    ):
        assert 0 <= read.cached < read.prompt
        assert 0 <= read.lost <= read.computed
