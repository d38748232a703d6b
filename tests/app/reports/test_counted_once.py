"""What a backend reports is counted once for each turn, and what it does not report is no number."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.accounting import Reported
from app.house import House
from app.reports import Used
from app.web.turn_totals import totals_of
from tests.app.houses import ask, follow, question
from tests.app.web.figures import figures
from tests.scripted_backend import (
    Gate,
    ScriptedBackend,
    answer,
    block_stop,
    delta,
    ending,
    error_reply,
    message_delta,
    message_start,
    message_stop,
)

pytestmark = pytest.mark.anyio

FULL = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 19}
COUNTS = st.none() | st.integers(0, 100_000)


@pytest.mark.parametrize(
    ("cached_fields", "cached", "prompt"),
    [
        ({}, None, None),
        ({"cache_creation_input_tokens": None, "cache_read_input_tokens": None}, None, None),
        ({"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}, 0, 8),
    ],
    ids=["absent", "null", "zero"],
)
async def test_cache_fields_that_are_absent_null_or_zero(
    house: House,
    anna: UUID,
    backend: ScriptedBackend,
    cached_fields: dict[str, int | None],
    cached: int | None,
    prompt: int | None,
) -> None:
    """Unknown turns are in no sum, so that they cannot lower a rate."""
    backend.script(*answer("a", usage={"input_tokens": 8, **cached_fields}, output_tokens=2))
    sent = await ask(house, anna)
    (turn,) = (await house.reports.conversation(sent.conversation_id)).turns
    assert (turn.figures.cached_tokens, turn.figures.prompt_tokens, turn.figures.input_tokens) == (cached, prompt, 8)
    backend.script(*answer("b", usage=FULL, output_tokens=2))
    await ask(house, anna, "More", sent.conversation_id)
    usage = await house.usages.total(anna)
    known = prompt is not None
    assert usage.prompt == Used(27 + (prompt or 0), 1 + known)
    assert usage.cached == Used(19, 1 + known)


async def test_usage_that_comes_in_several_events_is_a_total_each_time(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(
        message_start(usage={**FULL, "cache_read_input_tokens": 0}),
        delta("a"),
        message_delta(None, usage={**FULL, "output_tokens": 3}),
        delta("b"),
        block_stop(),
        message_delta(usage={**FULL, "output_tokens": 5}),
        message_stop(),
    )
    await ask(house, anna)
    usage = await house.usages.total(anna)
    assert (usage.prompt, usage.cached, usage.written) == (Used(27, 1), Used(19, 1), Used(5, 1))


async def test_a_request_that_had_to_be_tried_again_is_one_turn(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(error_reply(529, "overloaded_error", headers={"retry-after": "0"}))
    backend.script(*answer("a", usage=FULL))
    await ask(house, anna)
    assert len(backend.questions) == 2
    usage = await house.usages.total(anna)
    assert (usage.turns, usage.prompt, usage.cached) == (1, Used(27, 1), Used(19, 1))


async def test_turns_that_never_finished_are_counted_but_in_no_sum(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(error_reply(400, "invalid_request_error"))
    sent = await ask(house, anna)
    gate = Gate()
    backend.script(gate, *answer("never"))
    cancelled = await house.turns.send(anna, question("More", sent.conversation_id))
    await gate.arrived()
    await house.turns.stop(anna, cancelled.turn_id)
    await follow(house, anna, cancelled.turn_id)
    gate.open()
    backend.script(message_start(), delta("unknown"), *ending(output_tokens=2))
    await ask(house, anna, "And", sent.conversation_id)
    usage = await house.usages.total(anna)
    assert (usage.turns, usage.prompt, usage.cached) == (3, Used(None, 0), Used(None, 0))


@given(st.lists(st.tuples(COUNTS, COUNTS, COUNTS), max_size=6))
def test_a_rate_is_between_0_and_1_and_there_is_none_without_tokens(
    usages: list[tuple[int | None, int | None, int | None]],
) -> None:
    turns = [
        figures(input_tokens=computed, cache_creation_input_tokens=created, cache_read_input_tokens=read)
        for computed, created, read in usages
    ]
    totals = totals_of(turns)
    known = [Reported(*usage) for usage in usages if None not in usage]
    assert totals.rate_covered == len(known)
    assert totals.rate_prompt == sum(each.prompt_tokens or 0 for each in known)
    assert totals.rate_cached == sum(each.cached_tokens or 0 for each in known)
    assert 0 <= totals.rate_cached <= totals.rate_prompt
