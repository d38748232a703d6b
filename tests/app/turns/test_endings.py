from uuid import UUID

import pytest

from app.house import House, open_house
from app.turns.endings import ending_of
from inference_client import InferenceError, ServerFault, StatusError
from tests.app.houses import QUICK, add_user, ask, follow, last_answer, question, settings_for
from tests.scripted_backend import (
    CUT,
    MODELS,
    ScriptedBackend,
    Step,
    answer,
    block_stop,
    delta,
    error_event,
    error_reply,
    message_delta,
    message_start,
    message_stop,
)

pytestmark = pytest.mark.anyio

REFUSED = error_reply(400, "invalid_request_error", "SECRET of the backend")


@pytest.mark.parametrize(
    ("script", "status", "error_type", "text"),
    [
        ([message_start(), delta("Part")], "interrupted", "no_stop_reason", "Part"),
        ([message_start(), delta("Part"), CUT], "interrupted", "connection_lost", "Part"),
        ([message_start(), CUT], "failed", "connection_lost", ""),
        ([message_start(), delta("Part"), error_event("overloaded_error")], "failed", "overloaded", "Part"),
        ([message_start(), delta("Part"), error_event("strange")], "failed", "backend_fault", "Part"),
        ([error_event("overloaded_error")], "failed", "overloaded", ""),
        ([REFUSED], "failed", "invalid_request", ""),
        ([error_reply(401, "authentication_error")], "failed", "authentication_failed", ""),
        ([error_reply(413, "request_too_large")], "failed", "request_too_large", ""),
        ([message_start(), delta("Part"), b"data: {not json\n\n"], "failed", "protocol_error", "Part"),
        ([message_start(), block_stop(), message_delta("end_turn"), message_stop()], "completed", None, ""),
        (answer("\n a ", " \n\n", stop_reason="max_tokens"), "completed", None, "\n a  \n\n"),
    ],
)
async def test_a_turn_ends_in_a_named_state_with_its_text_kept(
    house: House,
    anna: UUID,
    backend: ScriptedBackend,
    script: list[Step],
    status: str,
    error_type: str | None,
    text: str,
) -> None:
    backend.script(*script)
    sent = await house.turns.send(anna, question())
    events = await follow(house, anna, sent.turn_id)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.text, last.turn.status, last.turn.error_type) == (text, status, error_type)
    assert (last.turn.error_message is None) == (error_type is None)
    assert "SECRET" not in str(last.turn.error_message)
    assert last.turn.finished_at is not None
    assert events[-1].kind == "end"
    assert events[-1].data == {
        "status": status,
        "stop_reason": last.turn.stop_reason,
        "error_type": error_type,
        "error_message": last.turn.error_message,
    }


async def test_the_question_after_a_failed_turn_is_sent_together_with_its_own(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "One")
    backend.script(REFUSED)
    await ask(house, anna, "Two", first.conversation_id)
    await ask(house, anna, "Three", first.conversation_id)
    await ask(house, anna, "Four", first.conversation_id)
    third, fourth = (request.json()["messages"] for request in backend.questions[-2:])
    assert [message["role"] for message in third] == ["user", "assistant", "user"]
    assert third[-1]["content"].startswith("Two\n\n<context-note>")
    assert "</context-note>\n\nThree\n\n<context-note>" in third[-1]["content"]
    assert fourth[:3] == third
    turns = (await house.reports.conversation(first.conversation_id)).turns
    assert [row.base_turn_number for row in turns] == [None, 1, 1, 3]
    assert turns[2].figures.expected_read_tokens == turns[0].kv_tokens_at_end


async def test_partial_text_of_a_failed_turn_is_sent_as_stored(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(message_start(), delta("Part "), error_event("overloaded_error"))
    first = await ask(house, anna, "One")
    await ask(house, anna, "Two", first.conversation_id)
    contents = [message["content"] for message in backend.questions[-1].json()["messages"]]
    assert contents[1] == "Part "


async def test_a_backend_that_is_away_fails_the_turn(database_url: str) -> None:
    settings = settings_for(database_url, "http://127.0.0.1:9")
    async with open_house(settings, rhythm=QUICK) as house:
        owner = await add_user(house.database)
        sent = await ask(house, owner)
        last = await last_answer(house, owner, sent.conversation_id)
    assert last.turn is not None
    assert (last.turn.status, last.turn.error_type) == ("failed", "backend_unreachable")
    assert (last.turn.input_tokens, last.turn.queued_ms) == (None, None)


@pytest.mark.parametrize(
    ("status", "told", "error_type", "words"),
    [
        (503, "api_error", "backend_fault", "The model server failed."),
        (529, "overloaded_error", "overloaded", "The model server is overloaded."),
    ],
)
async def test_a_backend_that_can_answer_nobody_fails_the_turn_and_serves_the_next_one_when_it_is_back(
    house: House, anna: UUID, backend: ScriptedBackend, status: int, told: str, error_type: str, words: str
) -> None:
    """As a server whose engine has died, and one that is full; the client tries three times."""
    for _ in range(3):
        backend.script(error_reply(status, told, "SECRET", headers={"retry-after": "0"}))
    sent = await ask(house, anna)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.turn.status, last.turn.error_type, last.turn.error_message) == ("failed", error_type, words)
    assert (last.text, last.turn.prompt_tokens) == ("", None)
    assert len(backend.questions) == 3
    await ask(house, anna, "Two", sent.conversation_id)
    assert (await last_answer(house, anna, sent.conversation_id)).text == "This is answer number 1."


async def test_a_backend_without_models_fails_the_turn(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    backend.models = []
    sent = await ask(house, anna)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.turn.status, last.turn.error_type) == ("failed", "no_model")


async def test_an_unknown_model_is_looked_up_again_next_time(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna)
    backend.script(error_reply(404, "not_found_error"))
    await ask(house, anna, "Two", sent.conversation_id)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert last.turn.error_type == "model_not_found"
    backend.models = [{"type": "model", "id": "newer", "display_name": "Newer"}]
    await ask(house, anna, "Three", sent.conversation_id)
    assert backend.questions[-1].json()["model"] == "newer"
    assert sum(request.path == MODELS for request in backend.requests) == 2


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (None, None, None)),
        ({"input_tokens": 10}, (10, None, None)),
        ({"input_tokens": 10, "cache_read_input_tokens": None}, (10, None, None)),
        (
            {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
            (10, 0, 0),
        ),
    ],
)
async def test_absent_null_and_zero_usage_are_kept_apart(
    house: House,
    anna: UUID,
    backend: ScriptedBackend,
    usage: dict[str, int | None] | None,
    expected: tuple[int | None, ...],
) -> None:
    backend.script(message_start(usage=usage), delta("x"), block_stop(), message_delta(), message_stop())
    sent = await ask(house, anna)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    turn = last.turn
    reported = (turn.input_tokens, turn.cache_creation_input_tokens, turn.cache_read_input_tokens)
    assert reported == expected
    assert turn.output_tokens is None
    assert turn.cached_tokens == expected[2]
    assert turn.prompt_tokens == (10 if expected[1] == 0 else None)
    assert turn.tokens_per_second is None


async def test_times_add_up(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    turn = last.turn
    assert turn.queued_ms is not None
    assert turn.admission_ms is not None
    assert turn.prefill_ms is not None
    assert turn.time_to_first_token_ms is not None
    assert turn.duration_ms is not None
    parts = turn.queued_ms + turn.admission_ms + turn.prefill_ms
    assert abs(parts - turn.time_to_first_token_ms) <= 2  # Each is rounded by itself.
    assert turn.duration_ms >= turn.time_to_first_token_ms


async def test_unstorable_characters_of_an_answer_are_replaced_once(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    raw = rb'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\u0000b"}}'
    event = b"event: content_block_delta\ndata: " + raw + b"\n\n"
    script = answer("\r\n\u2028")
    backend.script(*script[:2], event, *script[2:])
    sent = await house.turns.send(anna, question())
    events = await follow(house, anna, sent.turn_id)
    streamed = "".join(str(event.data["text"]) for event in events if event.kind == "delta")
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.text == streamed == "\r\n\u2028a\ufffdb"
    await ask(house, anna, "Two", sent.conversation_id)
    assert backend.questions[-1].json()["messages"][1]["content"] == last.text


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (ServerFault(500, "api_error", "secret"), "backend_fault"),
        (StatusError(418, "teapot", "secret"), "backend_fault"),
        (InferenceError("secret"), "backend_fault"),
    ],
)
async def test_any_other_error_is_the_backends_fault(error: InferenceError, error_type: str) -> None:
    ending = ending_of(error, has_text=True)
    assert (ending.status, ending.error_type) == ("failed", error_type)
    assert "secret" not in str(ending.error_message)
