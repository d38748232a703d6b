"""Conversations that outgrow the context window: one cut in a big step, what it costs, and what is refused."""

from collections.abc import AsyncIterator
from uuid import UUID

import anyio
import pytest
from sqlalchemy import select

from app.database import Database
from app.errors import Conflict, InvalidInput
from app.house import House, open_house
from app.models import Turn
from app.settings import Backend
from tests.app.houses import QUICK, MovingClock, add_user, ask, last_answer, question, settings_for
from tests.scripted_backend import COUNT_TOKENS, MODELS, Gate, Reply, ScriptedBackend, error_reply

pytestmark = pytest.mark.anyio

WINDOW = 2000
ANSWER = 200
MANY_WORDS = "word " * 120


@pytest.fixture
async def house(database_url: str, backend_url: str, clock: MovingClock) -> AsyncIterator[House]:
    """Its backend has a window of 2,000 tokens, of which an answer may take 200."""
    backend = Backend(name="scripted", base_url=backend_url, early_message_start=True, context_window=WINDOW)
    settings = settings_for(database_url, backend_url, backends=(backend,), answer_tokens=ANSWER)
    async with open_house(settings, clock=clock, rhythm=QUICK) as house:
        yield house


@pytest.fixture
async def anna(house: House) -> UUID:
    return await add_user(house.database)


async def turns_of(house: House) -> list[Turn]:
    async with house.database.read() as session:
        return list(await session.scalars(select(Turn).order_by(Turn.id)))


def asked(backend: ScriptedBackend) -> list[list[dict[str, str]]]:
    return [request.json()["messages"] for request in backend.questions]


async def grow(house: House, owner: UUID, turns: int, words: str = MANY_WORDS, system_prompt: str = "Be nice.") -> UUID:
    sent = await ask(house, owner, f"0 {words}", system_prompt=system_prompt)
    for number in range(1, turns):
        await ask(house, owner, f"{number} {words}", sent.conversation_id)
    return sent.conversation_id


async def test_a_growing_conversation_is_cut_in_big_steps_that_later_turns_inherit(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    await grow(house, anna, 30)
    turns = await turns_of(house)
    assert all(turn.status == "completed" for turn in turns)
    bodies = asked(backend)
    moved = [n for n in range(1, 30) if turns[n].history_start_message_id != turns[n - 1].history_start_message_id]
    assert 2 <= len(moved) <= 4
    for number, (turn, body) in enumerate(zip(turns, bodies, strict=True)):
        counted = turn.input_tokens + turn.cache_creation_input_tokens + turn.cache_read_input_tokens
        assert counted <= WINDOW - ANSWER
        assert body[0]["role"] == "user"
        assert body[-1]["content"].startswith(f"{number} ")
        assert (turn.outcome == "history_trimmed") == (number in moved)
        if number in moved:
            assert WINDOW / 2 - 150 < counted <= WINDOW / 2 + 10
            assert turn.shortfall_tokens > 0
        elif number:
            assert turn.shortfall_tokens == 0
            assert body[: len(bodies[number - 1])] == bodies[number - 1]
    assert all(request.json()["system"] == "Be nice." for request in backend.questions)


async def test_most_turns_ask_for_no_count(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    await grow(house, anna, 12)
    counts = [request for request in backend.requests if request.path == COUNT_TOKENS]
    assert 1 <= len(counts) <= 4
    for request in counts:
        assert set(request.json()) == {"model", "system", "messages", "metadata"}
        assert request.json()["metadata"] == backend.questions[0].json()["metadata"]


async def test_a_huge_paste_two_turns_back_is_left_behind_whole(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    conversation = await grow(house, anna, 1)
    await ask(house, anna, "paste " * 1500, conversation)
    await ask(house, anna, "and then " + MANY_WORDS, conversation)
    await ask(house, anna, "and now " + "word " * 200, conversation)
    assert [message["content"][:8] for message in asked(backend)[-1]] == ["and then", "This is ", "and now "]


async def test_a_message_that_cannot_fit_is_refused_with_numbers(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    conversation = await grow(house, anna, 2)
    for place in (None, conversation):
        with pytest.raises(
            InvalidInput, match=r"With the system prompt this needs 2,\d\d\d tokens.* at most 1,800 fit .* 200\."
        ) as caught:
            await house.turns.send(anna, question("paste " * 2100, place, system_prompt="Be nice."))
        assert caught.value.field == "text"
    assert len(await turns_of(house)) == 2
    assert len(await house.conversations.list(anna)) == 1
    await ask(house, anna, "Shorter", conversation)
    assert len(asked(backend)[-1]) == 5


async def test_a_system_prompt_that_cannot_fit_is_named(house: House, anna: UUID) -> None:
    with pytest.raises(InvalidInput, match=r"The system prompt needs 2,\d\d\d tokens; at most") as caught:
        await house.turns.send(anna, question("Hi", system_prompt="rule " * 2500))
    assert caught.value.field == "system_prompt"


async def test_a_new_system_prompt_counts_although_the_last_turn_went_without(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    conversation = await grow(house, anna, 10)
    await house.conversations.set_system_prompt(anna, conversation, "rule " * 1500)
    sent = await ask(house, anna, "Next", conversation)
    assert (await last_answer(house, anna, conversation)).turn.status == "completed"
    turn = (await turns_of(house))[-1]
    assert turn.id == sent.turn_id
    assert turn.history_start_message_id == sent.user_message_id
    assert turn.outcome == "system_prompt_edited"
    assert len(asked(backend)[-1]) == 1


async def test_a_backend_that_cannot_count_has_the_last_word(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    for _ in range(2):
        backend.script(error_reply(404, "not_found_error"), path=COUNT_TOKENS)
    backend.script(error_reply(400, "invalid_request_error"))
    await ask(house, anna, "paste " * 3000)
    assert [turn.error_type for turn in await turns_of(house)] == ["invalid_request"]


async def test_a_form_sent_twice_is_answered_by_its_first_turn_without_a_count(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    wanted = question("paste " * 1500)
    first = await house.turns.send(anna, wanted)
    counted = sum(request.path == COUNT_TOKENS for request in backend.requests)
    assert await house.turns.send(anna, wanted) == first
    assert sum(request.path == COUNT_TOKENS for request in backend.requests) == counted == 1


async def test_an_unanswered_question_counts_too(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    conversation = await grow(house, anna, 1)
    for _ in range(3):
        backend.script(error_reply(400, "invalid_request_error"))
        await ask(house, anna, "lost " * 550, conversation)
    first = asked(backend)[-1][-1]["content"]
    assert first.count("lost") <= 3 * 550
    assert {turn.status for turn in await turns_of(house)} == {"completed", "failed"}
    await ask(house, anna, "and now " + "word " * 300, conversation)
    assert (await last_answer(house, anna, conversation)).turn.status == "completed"


async def test_a_cut_made_for_what_another_window_has_changed_is_refused_by_name(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    conversation = await grow(house, anna, 1)
    await ask(house, anna, "paste " * 1000, conversation)
    gate, refused = Gate(), []

    async def send_slowly() -> None:
        with pytest.raises(Conflict, match="another window") as caught:
            await house.turns.send(anna, question("late " * 700, conversation))
        refused.append(caught.value)

    backend.script(gate, Reply(200, b'{"input_tokens": 1900}'), path=COUNT_TOKENS)
    async with anyio.create_task_group() as group:
        group.start_soon(send_slowly)
        await gate.arrived()
        await ask(house, anna, "quick", conversation)
        gate.open()
    assert len(refused) == 1
    assert len(await turns_of(house)) == 3


async def test_the_window_is_what_the_models_endpoint_says_and_unknown_means_no_cut(
    database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    async with open_house(settings_for(database_url, backend_url, answer_tokens=ANSWER), rhythm=QUICK) as house:
        anna = await add_user(house.database)
        backend.models[0]["max_input_tokens"] = WINDOW
        assert house.turns.context_window() is None
        with pytest.raises(InvalidInput, match="at most 1,800 fit"):
            await house.turns.send(anna, question("paste " * 2500))
        assert house.turns.context_window() == house.turns.context_window("scripted") == WINDOW
        assert house.turns.context_window("another") is None
        await ask(house, anna, "Hello")
        assert sum(request.path == MODELS for request in backend.requests) == 1
    async with open_house(settings_for(database_url, backend_url, answer_tokens=ANSWER), rhythm=QUICK) as house:
        del backend.models[0]["max_input_tokens"]
        await ask(house, anna, "paste " * 2500)
        assert house.turns.context_window() is None
    assert [turn.status for turn in await turns_of_url(database_url)] == ["completed"] * 2
    assert sum(request.path == COUNT_TOKENS for request in backend.requests) == 3


async def test_a_backend_that_is_away_holds_up_no_send_and_fails_its_turn_by_name(
    database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    async with open_house(settings_for(database_url, backend_url), rhythm=QUICK) as house:
        anna = await add_user(house.database)
        backend.script(error_reply(401, "authentication_error"), path=MODELS)
        backend.script(error_reply(401, "authentication_error"), path=MODELS)
        await ask(house, anna, "paste " * 2500)
    assert [turn.error_type for turn in await turns_of_url(database_url)] == ["authentication_failed"]


async def turns_of_url(database_url: str) -> list[Turn]:
    database = Database(database_url)
    async with database.read() as session:
        turns = list(await session.scalars(select(Turn).order_by(Turn.id)))
    await database.close()
    return turns
