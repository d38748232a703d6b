"""An answer is the joined deltas and its end as reported, however its bytes come."""

from uuid import UUID

import anyio
import pytest
from sqlalchemy import select

from app.house import House
from app.models import Turn
from tests.app.houses import ask, follow, last_answer, question
from tests.scripted_backend import (
    CUT,
    Gate,
    ScriptedBackend,
    Step,
    answer,
    block_start,
    block_stop,
    delta,
    message_delta,
    message_start,
    message_stop,
)

pytestmark = pytest.mark.anyio

TEXT = "한é👩‍👩‍👧e\u0301"


async def test_connection_that_pauses_inside_every_character_changes_nothing(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    body = delta(TEXT).encode()
    middles = [at for at in range(len(body)) if body[at] & 0xC0 == 0x80]  # Inside a character of several bytes.
    edges = [0, *middles, len(body)]
    gates = [Gate() for _ in middles]
    steps: list[Step] = []
    for begin, end, gate in zip(edges, edges[1:], [*gates, None], strict=False):
        steps += [body[begin:end], gate] if gate else [body[begin:end]]
    backend.script(message_start(), block_start(), *steps, block_stop(), message_delta(), message_stop())
    sent = await house.turns.send(anna, question())
    for gate in gates:
        await gate.arrived()
        await anyio.sleep(0.005)  # So that the piece travels alone.
        gate.open()
    events = await follow(house, anna, sent.turn_id)
    assert len(middles) > 15
    assert [event.data["text"] for event in events if event.kind == "delta"] == [TEXT]
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.text, last.turn.status) == (TEXT, "completed")


async def test_delta_over_the_limit_ends_the_turn_with_the_text_before_it(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(message_start(), delta("Part"), delta("x" * 2_100_000), *answer("never")[2:])
    sent = await ask(house, anna)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.text, last.turn.status, last.turn.error_type) == ("Part", "failed", "protocol_error")
    assert last.turn.error_message == "The model server gave an answer that cannot be read."


async def test_stop_sequence_is_stored_and_makes_the_next_expectation_a_minimum(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    usage = {"input_tokens": 27, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    end = message_delta("stop_sequence", stop_sequence="🛑END", usage={"output_tokens": 4})
    backend.script(message_start(usage=usage), delta("ABC"), block_stop(), end, message_stop())
    sent = await ask(house, anna)
    await ask(house, anna, "Two", sent.conversation_id)
    async with house.database.read() as session:
        first, second = await session.scalars(select(Turn).order_by(Turn.id))
    assert (first.stop_reason, first.stop_sequence, first.output_tokens) == ("stop_sequence", "🛑END", 4)
    assert (second.expected_read_tokens, second.expected_is_minimum) == (27, True)
    assert second.stop_sequence is None
    assert backend.questions[-1].json()["messages"][1]["content"] == "ABC"


async def test_thousands_of_tokens_before_a_torn_connection_are_stored_to_the_last(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    words = [f"{number} " for number in range(2000)]
    backend.script(message_start(), *map(delta, words), delta("never").encode()[:-4], CUT)
    sent = await ask(house, anna)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert last.text == "".join(words)
    assert (last.turn.status, last.turn.error_type) == ("interrupted", "connection_lost")
    assert last.turn.output_tokens is None
