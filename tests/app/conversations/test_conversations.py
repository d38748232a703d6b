from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select

from app.errors import Conflict, InvalidInput, NotFound
from app.house import House
from app.models import AuditEntry, Conversation, Message, Submission, SystemPrompt, Turn
from tests.app.houses import MovingClock, add_user, ask, follow, last_answer, question
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio


async def test_view_shows_the_branch_from_root_to_leaf(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "One", system_prompt="Be nice")
    await ask(house, anna, "Two", sent.conversation_id)
    view = await house.conversations.view(anna, sent.conversation_id)
    assert [message.text for message in view.messages] == [
        "One",
        "This is answer number 1.",
        "Two",
        "This is answer number 2.",
    ]
    assert [message.role for message in view.messages] == ["user", "assistant"] * 2
    assert [message.turn is None for message in view.messages] == [True, False, True, False]
    assert (view.title, view.system_prompt, view.live_turn_id) == ("One", "Be nice", None)
    assert len(view.reference) == 8


async def test_list_has_the_newest_activity_first_and_marks_running_ones(
    house: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "First")
    clock.advance(minutes=1)
    await ask(house, anna, "Second")
    clock.advance(minutes=1)
    gate = Gate()
    backend.script(message_start(), gate, *answer("x")[1:])
    sent = await house.turns.send(anna, question("Again", first.conversation_id))
    rows = await house.conversations.list(anna)
    assert [(row.title, row.running) for row in rows] == [("First", True), ("Second", False)]
    gate.open()
    await follow(house, anna, sent.turn_id)
    assert not any(row.running for row in await house.conversations.list(anna))


async def test_list_shows_nothing_of_others_and_nothing_temporary(house: House, anna: UUID) -> None:
    await ask(house, await add_user(house.database, "Berta"), "Private")
    sent = await ask(house, anna, "Temporary")
    async with house.database.write() as session:
        conversation = await session.get_one(Conversation, sent.conversation_id)
        conversation.expires_at = house.clock()
    assert await house.conversations.list(anna) == []


async def test_order_comes_from_the_sequence_not_from_the_clock(house: House, anna: UUID, clock: MovingClock) -> None:
    sent = await ask(house, anna, "0")
    for number in range(1, 12):
        if number == 6:
            clock.advance(hours=-1)
        await ask(house, anna, str(number), sent.conversation_id)
    for _ in range(20):
        view = await house.conversations.view(anna, sent.conversation_id)
        asked = [message.text for message in view.messages if message.role == "user"]
        assert asked == [str(number) for number in range(12)]


async def test_a_hundred_messages_with_one_time_keep_their_order(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "start")
    parent = sent.assistant_message_id
    async with house.database.write() as session:
        conversation = await session.get_one(Conversation, sent.conversation_id)
        rows = []
        for seq in range(3, 103):
            row = Message(
                id=uuid4(),  # Not in the order of their age.
                conversation_id=conversation.id,
                parent_id=parent,
                seq=seq,
                role="user" if seq % 2 else "assistant",
                text=str(seq),
                created_at=house.clock(),
            )
            rows.append(row)
            parent = row.id
        conversation.active_leaf_id, conversation.next_seq = parent, 103
        session.add_all(rows)
    views = [await house.conversations.view(anna, sent.conversation_id) for _ in range(3)]
    for view in views:
        assert [message.text for message in view.messages[2:]] == [str(seq) for seq in range(3, 103)]


async def test_rename_makes_one_plain_line(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    await house.conversations.rename(anna, sent.conversation_id, " My \r\n\u202e title\x00 ")
    assert (await house.conversations.view(anna, sent.conversation_id)).title == "My title"
    with pytest.raises(InvalidInput) as caught:
        await house.conversations.rename(anna, sent.conversation_id, " \n")
    assert caught.value.field == "title"


async def test_system_prompt_changes_later_turns_and_keeps_the_old_row(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "One", system_prompt="Old")
    await house.conversations.set_system_prompt(anna, sent.conversation_id, "New\r\nline")
    await house.conversations.set_system_prompt(anna, sent.conversation_id, "New\nline")
    await ask(house, anna, "Two", sent.conversation_id)
    assert [request.json()["system"] for request in backend.questions] == ["Old", "New\nline"]
    async with house.database.read() as session:
        texts = list(await session.scalars(select(SystemPrompt.text).order_by(SystemPrompt.id)))
    assert texts == ["Old", "New\nline"]
    await house.conversations.set_system_prompt(anna, sent.conversation_id, "")
    await ask(house, anna, "Three", sent.conversation_id)
    assert "system" not in backend.questions[-1].json()


async def test_the_turn_after_an_edited_system_prompt_says_so(house: House, anna: UUID) -> None:
    """An edit that is taken back before the next question is none; the third in ten turns is no accident."""
    sent = await ask(house, anna, "One", system_prompt="Old")
    for prompts in ([], ["New"], [], ["Old", "New"], [""], [], ["Old"]):
        for prompt in prompts:
            await house.conversations.set_system_prompt(anna, sent.conversation_id, prompt)
        await ask(house, anna, "Next", sent.conversation_id)
    figures = [row.figures for row in (await house.reports.conversation(sent.conversation_id)).turns]
    first, hit, edited, volatile = "first_turn", "hit", "system_prompt_edited", "volatile_system_prompt"
    assert [turn.outcome for turn in figures] == [first, hit, edited, hit, hit, edited, hit, volatile]
    assert figures[2].expected_read_tokens is not None
    assert figures[2].shortfall_tokens is not None
    assert figures[2].shortfall_tokens > 0


async def test_system_prompt_is_refused_while_a_turn_is_live_and_when_too_long(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(gate, *answer("x"))
    sent = await house.turns.send(anna, question())
    with pytest.raises(Conflict) as caught:
        await house.conversations.set_system_prompt(anna, sent.conversation_id, "New")
    assert caught.value.turn_id == sent.turn_id
    gate.open()
    await follow(house, anna, sent.turn_id)
    with pytest.raises(InvalidInput, match="32000"):
        await house.conversations.set_system_prompt(anna, sent.conversation_id, "x" * 32_001)


async def test_strangers_get_what_they_get_for_missing_conversations(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    berta = await add_user(house.database, "Berta")
    for owner, conversation_id in ((berta, sent.conversation_id), (anna, uuid4())):
        for call in (
            house.conversations.view(owner, conversation_id),
            house.conversations.rename(owner, conversation_id, "Mine"),
            house.conversations.set_system_prompt(owner, conversation_id, "Mine"),
            house.conversations.delete(owner, conversation_id),
            house.turns.send(owner, question("Mine", conversation_id)),
        ):
            with pytest.raises(NotFound):
                await call
    for turn_call in (house.turns.stop(berta, sent.turn_id), house.turns.events(berta, sent.turn_id, 0)):
        with pytest.raises(NotFound):
            await turn_call
    assert len((await house.conversations.view(anna, sent.conversation_id)).messages) == 2


async def test_delete_leaves_numbers_only(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "Secret words", system_prompt="Secret rules")
    await ask(house, anna, "More", sent.conversation_id)
    before = await house.reports.conversation(sent.conversation_id)
    await house.conversations.delete(anna, sent.conversation_id)
    with pytest.raises(NotFound):
        await house.conversations.view(anna, sent.conversation_id)
    assert await house.conversations.list(anna) == []
    async with house.database.read() as session:
        conversation = await session.get_one(Conversation, sent.conversation_id)
        turns = list(await session.scalars(select(Turn)))
        counts = [
            await session.scalar(select(func.count()).select_from(table))
            for table in (Message, SystemPrompt, Submission)
        ]
        audited = await session.scalars(select(AuditEntry).where(AuditEntry.action == "conversation_deleted"))
        assert [(entry.actor_id, entry.subject) for entry in audited] == [(anna, conversation.reference)]
    assert counts == [0, 0, 0]
    assert (conversation.title, conversation.salt, conversation.system_prompt_id) == ("", None, None)
    assert [turn.request_sha256 for turn in turns] == [None, None]
    after = await house.reports.conversation(sent.conversation_id)
    assert [row.figures.prompt_tokens for row in after.turns] == [row.figures.prompt_tokens for row in before.turns]


async def test_delete_while_streaming_stops_the_job_and_a_late_write_changes_nothing(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Secret"), gate, *answer("x")[1:])
    sent = await house.turns.send(anna, question())
    await gate.arrived()
    events = await house.turns.events(anna, sent.turn_id, 0)
    await house.conversations.delete(anna, sent.conversation_id)
    await backend.until(lambda: backend.disconnects == 1)
    seen = [event async for event in events]
    assert (seen[-1].kind, seen[-1].data["status"]) == ("end", "stopped")
    async with house.database.read() as session:
        turn = await session.get_one(Turn, sent.turn_id)
        assert (turn.status, turn.assistant_message_id) == ("stopped", None)
        assert await session.scalar(select(func.count()).select_from(Message)) == 0


async def test_view_of_a_live_answer_has_its_text_and_cursor(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate, delta(" two"), *answer("")[2:])
    sent = await house.turns.send(anna, question())
    events = await house.turns.events(anna, sent.turn_id, 0)
    async for event in events:
        if event.kind == "delta":
            break
    live = await last_answer(house, anna, sent.conversation_id)
    assert live.text == "Part"
    assert live.cursor >= event.seq  # Its HTML may have followed.
    assert (await house.conversations.view(anna, sent.conversation_id)).live_turn_id == sent.turn_id
    gate.open()
    rest = await follow(house, anna, sent.turn_id, live.cursor)
    assert "".join(str(event.data["text"]) for event in rest if event.kind == "delta") == " two"
    assert (await last_answer(house, anna, sent.conversation_id)).text == "Part two"
