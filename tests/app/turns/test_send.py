import json
from uuid import UUID

import anyio
import pytest
from sqlalchemy import select

from app.errors import Conflict, InvalidInput, NotFound, TooMany
from app.house import House, open_house
from app.models import Message, Turn, User
from app.prompt import PathMessage, message_sha256
from app.turns import SendRequest, SentTurn
from tests.app.houses import QUICK, add_user, ask, follow, last_answer, question, settings_for, until
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio


async def test_first_send_makes_the_conversation_and_answers(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "What is\r\nthe weather?", time_zone="Asia/Seoul", system_prompt="Be nice")
    view = await house.conversations.view(anna, sent.conversation_id)
    assert view.title == "What is the weather?"
    assert [message.id for message in view.messages] == [sent.user_message_id, sent.assistant_message_id]
    note = "<context-note>Sunday 2026-11-29 18:30 +09:00 (Asia/Seoul)</context-note>"
    assert view.messages[0].context_note == note
    body = backend.questions[0].json()
    assert body["messages"] == [{"role": "user", "content": f"What is\nthe weather?\n\n{note}"}]
    assert (body["model"], body["max_tokens"], body["stream"]) == ("scripted", 1024, True)
    assert "Anna" not in backend.questions[0].body.decode()


async def test_next_turn_counts_against_its_base(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    await ask(house, anna, "Two", first.conversation_id)
    one, two = (await house.reports.conversation(first.conversation_id)).turns
    assert (one.base_turn_number, one.figures.expected_read_tokens) == (None, None)
    assert two.base_turn_number == 1
    assert two.figures.expected_read_tokens == one.kv_tokens_at_end == two.figures.cached_tokens
    assert (two.figures.shortfall_tokens, two.figures.expected_is_minimum) == (0, False)


async def test_shortfall_is_stored_where_the_backend_read_less(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "One")
    usage = {"input_tokens": 50, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 3}
    backend.script(*answer("x", usage=usage))
    await ask(house, anna, "Two", first.conversation_id)
    one, two = (await house.reports.conversation(first.conversation_id)).turns
    assert one.kv_tokens_at_end is not None
    assert two.figures.shortfall_tokens == one.kv_tokens_at_end - 3


async def test_hashes_of_what_was_sent_are_stored(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    await ask(house, anna, "Two", first.conversation_id)
    async with house.database.read() as session:
        rows = list(await session.scalars(select(Message).order_by(Message.seq)))
        turns = list(await session.scalars(select(Turn)))
    assert [row.sent_sha256 is None for row in rows] == [False, False, False, True]
    assert len({row.sent_sha256 for row in rows}) == 4
    assert len({turn.request_sha256 for turn in turns} - {None}) == 2
    unsalted = message_sha256(b"", PathMessage("assistant", rows[1].text))
    assert rows[1].sent_sha256 != unsalted


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (SendRequest("k", ""), "text"),
        (SendRequest("k", " \r\n\t"), "text"),
        (SendRequest("k", "x" * 32_001), "text"),
        (SendRequest("k", "x", system_prompt="x" * 32_001), "system_prompt"),
        (SendRequest("", "x"), "submission_key"),
        (SendRequest("   ", "x"), "submission_key"),
        (SendRequest("k" * 65, "x"), "submission_key"),
        (SendRequest("k\x00", "x"), "submission_key"),
    ],
)
async def test_unusable_requests_are_refused(house: House, anna: UUID, request_: SendRequest, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await house.turns.send(anna, request_)
    assert caught.value.field == field
    assert await house.conversations.list(anna) == []


async def test_longest_message_is_taken_whole(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "😀" * 32_000)
    view = await house.conversations.view(anna, sent.conversation_id)
    assert view.messages[0].text == "😀" * 32_000


async def test_the_same_form_sent_at_once_many_times_makes_one_turn(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    request = question("Once")
    sent: list[SentTurn] = []

    async def send() -> None:
        sent.append(await house.turns.send(anna, request))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(send)
    await follow(house, anna, sent[0].turn_id)
    assert len(set(sent)) == 1
    assert len(backend.questions) == 1
    assert len((await house.conversations.view(anna, sent[0].conversation_id)).messages) == 2
    # Line ends differ between the ways to send one form.
    again = await house.turns.send(anna, SendRequest(request.submission_key, "Once"))
    assert again == sent[0]


async def test_the_same_key_with_another_body_is_a_conflict(house: House, anna: UUID) -> None:
    request = question("One")
    sent = await house.turns.send(anna, request)
    await follow(house, anna, sent.turn_id)
    with pytest.raises(Conflict) as caught:
        await house.turns.send(anna, SendRequest(request.submission_key, "Two"))
    assert caught.value.turn_id == sent.turn_id


async def test_the_same_key_of_somebody_else_is_another_turn(house: House, anna: UUID) -> None:
    request = question("One")
    sent = await house.turns.send(anna, request)
    berta = await add_user(house.database, "Berta")
    other = await house.turns.send(berta, request)
    assert other.turn_id != sent.turn_id
    await follow(house, anna, sent.turn_id)
    await follow(house, berta, other.turn_id)


async def test_two_tabs_that_send_at_once_make_one_turn(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    sent = await ask(house, anna)
    gate = Gate()
    backend.script(gate, *answer("x"))
    won: list[SentTurn] = []
    lost: list[Conflict] = []

    async def send(text: str) -> None:
        try:
            won.append(await house.turns.send(anna, question(text, sent.conversation_id)))
        except Conflict as conflict:
            lost.append(conflict)

    async with anyio.create_task_group() as group:
        group.start_soon(send, "x")
        group.start_soon(send, "y")
    assert [conflict.turn_id for conflict in lost] == [won[0].turn_id]
    gate.open()
    await follow(house, anna, won[0].turn_id)
    assert len((await house.conversations.view(anna, sent.conversation_id)).messages) == 4


async def test_live_turns_of_a_user_are_limited(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    gate = Gate()
    for _ in range(3):
        backend.script(gate, *answer("x"))
    sent = [await house.turns.send(anna, question()) for _ in range(2)]
    with pytest.raises(TooMany) as caught:
        await house.turns.send(anna, question())
    assert caught.value.retry_after > 0
    berta = await add_user(house.database, "Berta")
    other = await house.turns.send(berta, question())
    gate.open()
    for turn in sent:
        await follow(house, anna, turn.turn_id)
    await follow(house, berta, other.turn_id)
    await ask(house, anna)


async def test_disabled_and_unknown_users_cannot_send(house: House, anna: UUID) -> None:
    async with house.database.write() as session:
        (await session.get_one(User, anna)).disabled_at = house.clock()
    for owner in (anna, UUID(int=7)):
        with pytest.raises(NotFound):
            await house.turns.send(owner, question())


async def test_many_sends_at_once_all_arrive_whole(house: House, backend: ScriptedBackend) -> None:
    owners = [await add_user(house.database, f"User {number}") for number in range(10)]
    sent: dict[UUID, SentTurn] = {}

    async def send(owner: UUID) -> None:
        sent[owner] = await ask(house, owner, "Hello")

    async with anyio.create_task_group() as group:
        for owner in owners:
            group.start_soon(send, owner)
    for owner, turn in sent.items():
        last = await last_answer(house, owner, turn.conversation_id)
        assert last.turn is not None
        assert (last.text, last.turn.status) == ("This is answer number 1.", "completed")
    scopes = {request.json()["metadata"]["user_id"] for request in backend.questions}
    assert len(scopes) == len(owners)


async def test_scope_is_not_sent_where_the_backend_has_none(
    database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    plain = {"name": "plain", "base_url": backend_url, "isolation": "none", "model": "chosen"}
    settings = settings_for(database_url, backend_url, backends=(plain,))
    async with open_house(settings, rhythm=QUICK) as house:
        owner = await add_user(house.database)
        sent = await ask(house, owner)
        last = await last_answer(house, owner, sent.conversation_id)
    body = json.loads(backend.questions[0].body)
    assert "metadata" not in body
    assert body["model"] == "chosen"
    # This backend's message_start comes when it likes, so it splits no time.
    assert last.turn is not None
    assert (last.turn.admission_ms, last.turn.prefill_ms) == (None, None)
    assert last.turn.time_to_first_token_ms is not None


async def test_no_connection_is_held_while_the_backend_is_silent(
    database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    settings = settings_for(database_url, backend_url, live_turns_per_user=5)
    async with open_house(settings, rhythm=QUICK, pool_size=1) as house:
        owner = await add_user(house.database)
        gate = Gate()
        for _ in range(3):
            backend.script(message_start(), delta("a"), gate, *answer("b")[1:])
        sent = [await house.turns.send(owner, question()) for _ in range(3)]
        followers = [await house.turns.events(owner, turn.turn_id, 0) for turn in sent]
        for events in followers:
            async for event in events:
                if event.kind == "delta":
                    break
        assert len(await house.conversations.list(owner)) == 3
        gate.open()
        for turn in sent:
            await follow(house, owner, turn.turn_id)

        async def all_returned() -> bool:
            return bool(house.database.pool.checkedout() == 0)  # type: ignore[attr-defined]

        await until(all_returned)  # A checkpoint may be under way.


async def test_a_closing_house_takes_no_more_sends(database_url: str, backend_url: str) -> None:
    async with open_house(settings_for(database_url, backend_url), rhythm=QUICK) as house:
        owner = await add_user(house.database)
    with pytest.raises(TooMany):
        await house.turns.send(owner, question())
