"""Edit, regenerate, retry, continue and branches: what is sent, what is kept, what should be read from the cache."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from app.conversations import ConversationView, MessageView
from app.errors import Conflict, InvalidInput, NotFound
from app.house import House, open_house
from app.models import Message, Turn
from app.turns import SendRequest, SentTurn
from tests.app.houses import QUICK, add_user, ask, follow, question, settings_for
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, ending, error_event, error_reply, message_start

pytestmark = pytest.mark.anyio


async def press(
    house: House, owner: UUID, kind: str, conversation_id: UUID, message_id: UUID, text: str = ""
) -> SentTurn:
    """Presses a button of a message and waits for the end."""
    wanted: SendRequest = question(text, conversation_id, kind=kind, message_id=message_id)
    sent = await house.turns.send(owner, wanted)
    await follow(house, owner, sent.turn_id)
    return sent


async def shown(house: House, owner: UUID, sent: SentTurn, through: UUID | None = None) -> ConversationView:
    return await house.conversations.view(owner, sent.conversation_id, through)


def texts(view: ConversationView) -> list[str]:
    return [message.text for message in view.messages]


def sent_contents(backend: ScriptedBackend) -> list[str]:
    """The messages of the last request, without their notes."""
    messages: list[dict[str, Any]] = backend.questions[-1].json()["messages"]
    return [message["content"].partition("\n\n<context-note>")[0] for message in messages]


def place_of(message: MessageView) -> tuple[int, int]:
    assert message.branch is not None
    return message.branch.position, message.branch.count


async def test_edit_makes_a_branch_and_keeps_the_old_one(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    before = texts(await shown(house, anna, second))
    edited = await press(house, anna, "edit", first.conversation_id, second.user_message_id, "Two, better")
    assert sent_contents(backend) == ["One", before[1], "Two, better"]
    view = await shown(house, anna, edited)
    assert texts(view)[:3] == ["One", before[1], "Two, better"]
    assert place_of(view.messages[2]) == (2, 2)
    assert texts(await shown(house, anna, first, second.user_message_id)) == before
    figures = view.messages[3].turn
    assert figures is not None
    assert (figures.kind, figures.shortfall_tokens, figures.expected_is_minimum) == ("edit", 0, False)
    assert figures.expected_read_tokens is not None
    assert figures.cached_tokens is not None
    assert figures.cached_tokens >= figures.expected_read_tokens > 0  # Both questions begin alike.


async def test_edit_of_the_first_question_makes_a_second_root(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "One")
    edited = await press(house, anna, "edit", first.conversation_id, first.user_message_id, "Uno")
    assert sent_contents(backend) == ["Uno"]
    view = await shown(house, anna, edited)
    assert place_of(view.messages[0]) == (2, 2)
    assert view.messages[1].turn is not None
    assert view.messages[1].turn.expected_read_tokens is None


async def test_regenerated_answers_stand_beside_each_other(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    first = await ask(house, anna, "One")
    bodies = [backend.questions[-1].body]
    for _ in range(2):
        again = await press(house, anna, "regenerate", first.conversation_id, first.assistant_message_id)
        bodies.append(backend.questions[-1].body)
        assert again.user_message_id == first.user_message_id
    assert bodies[0] == bodies[1] == bodies[2]
    view = await shown(house, anna, first)
    assert [place_of(view.messages[1]), view.messages[0].branch] == [(3, 3), None]
    figures = view.messages[1].turn
    assert figures is not None
    assert figures.prompt_tokens is not None
    assert figures.cached_tokens == figures.expected_read_tokens == figures.prompt_tokens - 1
    assert figures.shortfall_tokens == 0


async def test_regenerating_in_the_middle_leaves_what_follows(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    before = texts(await shown(house, anna, second))
    again = await press(house, anna, "regenerate", first.conversation_id, first.assistant_message_id)
    view = await shown(house, anna, again)
    assert [message.id for message in view.messages] == [first.user_message_id, again.assistant_message_id]
    third = await ask(house, anna, "Three", first.conversation_id)
    assert sent_contents(backend) == ["One", view.messages[1].text, "Three"]
    assert texts(await shown(house, anna, third, second.user_message_id)) == before


async def test_chosen_branch_is_remembered_down_to_its_leaf(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    old = await shown(house, anna, second)
    edited = await press(house, anna, "edit", first.conversation_id, first.user_message_id, "Uno")
    new = await shown(house, anna, edited)
    await house.branches.select(anna, first.conversation_id, first.user_message_id)
    assert texts(await shown(house, anna, first)) == texts(old)
    await house.branches.select(anna, first.conversation_id, edited.user_message_id)
    assert texts(await shown(house, anna, first)) == texts(new)
    third = await ask(house, anna, "Tres", first.conversation_id)
    await house.branches.select(anna, first.conversation_id, first.user_message_id)
    await house.branches.select(anna, first.conversation_id, edited.user_message_id)
    assert (await shown(house, anna, first)).leaf_id == third.assistant_message_id


async def test_question_stands_below_what_its_page_showed(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    first = await ask(house, anna, "One")
    await ask(house, anna, "From tab A", first.conversation_id)
    from_b = question("From tab B", first.conversation_id, message_id=first.assistant_message_id)
    sent = await house.turns.send(anna, from_b)
    await follow(house, anna, sent.turn_id)
    assert sent_contents(backend)[::2] == ["One", "From tab B"]
    view = await shown(house, anna, sent)
    assert place_of(view.messages[2]) == (2, 2)


async def test_question_below_a_deleted_message_is_sent_all_the_same(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "One")
    await ask(house, anna, "Two", first.conversation_id, message_id=str(uuid4()))
    assert sent_contents(backend)[::2] == ["One", "Two"]


@pytest.mark.parametrize("reply", [error_reply(400, "invalid_request_error"), error_event("overloaded_error", "Busy.")])
async def test_retry_of_an_answer_without_text_writes_into_it(
    house: House, anna: UUID, backend: ScriptedBackend, reply: Any
) -> None:
    backend.script(reply)
    first = await ask(house, anna, "One")
    again = await press(house, anna, "retry", first.conversation_id, first.assistant_message_id)
    assert again.assistant_message_id == first.assistant_message_id
    assert sent_contents(backend) == ["One"]
    view = await shown(house, anna, again)
    assert [message.branch for message in view.messages] == [None, None]
    assert view.messages[1].text
    turns = (await house.reports.conversation(first.conversation_id)).turns
    assert [(turn.figures.kind, turn.figures.status) for turn in turns] == [
        ("question", "failed"),
        ("retry", "completed"),
    ]


async def test_retry_keeps_text_that_had_come(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    backend.script(message_start(), delta("Part"), error_event("overloaded_error", "Busy."))
    first = await ask(house, anna, "One")
    again = await press(house, anna, "retry", first.conversation_id, first.assistant_message_id)
    assert again.assistant_message_id != first.assistant_message_id
    assert texts(await shown(house, anna, again, first.assistant_message_id)) == ["One", "Part"]


async def test_retry_of_a_question_that_was_gone_on_from_changes_nothing_below(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(error_reply(400, "invalid_request_error"))
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    again = await press(house, anna, "retry", first.conversation_id, first.assistant_message_id)
    assert again.assistant_message_id != first.assistant_message_id
    assert texts(await shown(house, anna, again, second.user_message_id))[1] == ""


async def continued(house: House, owner: UUID, backend: ScriptedBackend, text: str, *more: str) -> SentTurn:
    """One answer that is cut after `text` and then continued with each of `more`."""
    backend.script(*answer(text, stop_reason="max_tokens"))
    sent = await ask(house, owner, "One")
    for part in more:
        backend.script(*answer(part, stop_reason="max_tokens"))
        await press(house, owner, "continue", sent.conversation_id, sent.assistant_message_id)
    return sent


@pytest.mark.parametrize(
    "text", ["half a wo", "after a space ", "after a line\n", "```python\nx = ", "emoji \U0001f469‍"]
)
async def test_continued_answer_is_joined_without_a_seam(
    house: House, anna: UUID, backend: ScriptedBackend, text: str
) -> None:
    sent = await continued(house, anna, backend, text, "rd and\n", " more")
    assert backend.questions[-1].json()["messages"][-1] == {"role": "assistant", "content": text + "rd and\n"}
    message = (await shown(house, anna, sent)).messages[-1]
    assert message.text == text + "rd and\n more"
    assert message.parts == 3
    await ask(house, anna, "Two", sent.conversation_id)
    assert [each["role"] for each in backend.questions[-1].json()["messages"]] == ["user", "assistant", "user"]
    assert sent_contents(backend)[1] == text + "rd and\n more"


async def test_continue_expects_the_cut_answer_in_the_cache(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    backend.script(*answer("Part", usage=usage, output_tokens=4, stop_reason="max_tokens"))
    first = await ask(house, anna, "One")
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 13}
    backend.script(*answer(" more", usage=usage, output_tokens=2))
    await press(house, anna, "continue", first.conversation_id, first.assistant_message_id)
    figures = (await shown(house, anna, first)).messages[-1].turn
    assert figures is not None
    assert (figures.kind, figures.prefill_chars) == ("continue", 4)
    assert (figures.expected_read_tokens, figures.shortfall_tokens) == (13, 0)


async def test_continued_answer_is_whole_while_it_is_written(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(*answer("Begun", stop_reason="max_tokens"))
    first = await ask(house, anna, "One")
    waiting, writing = Gate(), Gate()
    backend.script(message_start(), waiting, delta(" and"), writing, *ending(output_tokens=3))
    wanted = question("", first.conversation_id, kind="continue", message_id=first.assistant_message_id)
    sent = await house.turns.send(anna, wanted)
    await waiting.arrived()
    message = (await shown(house, anna, sent)).messages[-1]
    assert (message.text, message.cursor) == ("Begun", 0)
    waiting.open()
    await writing.arrived()
    message = (await shown(house, anna, sent)).messages[-1]
    assert message.text == "Begun and"
    assert message.cursor > 0
    writing.open()
    events = await follow(house, anna, sent.turn_id)
    assert "".join(str(event.data["text"]) for event in events if event.kind == "delta") == " and"
    assert (await shown(house, anna, sent)).messages[-1].text == "Begun and"


async def test_only_an_answer_with_text_and_nothing_below_can_be_continued(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(*answer("Part", stop_reason="max_tokens"))
    first = await ask(house, anna, "One")
    backend.script(error_reply(400, "invalid_request_error"))
    second = await ask(house, anna, "Two", first.conversation_id)
    for message_id in (first.assistant_message_id, second.assistant_message_id):
        with pytest.raises(Conflict, match="cannot be continued"):
            await press(house, anna, "continue", first.conversation_id, message_id)


async def test_backend_without_prefill_cannot_continue(
    database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    settings = settings_for(database_url, backend_url)
    plain = settings.backends[0].model_copy(update={"prefill": False})
    async with open_house(settings.model_copy(update={"backends": (plain,)}), rhythm=QUICK) as house:
        owner = await add_user(house.database)
        backend.script(*answer("Part", stop_reason="max_tokens"))
        first = await ask(house, owner, "One")
        assert not house.turns.takes_prefill
        with pytest.raises(Conflict, match="model server cannot continue"):
            await press(house, owner, "continue", first.conversation_id, first.assistant_message_id)


async def test_kinds_do_not_take_messages_of_the_wrong_role(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    for kind, message_id in (
        ("edit", first.assistant_message_id),
        ("retry", first.user_message_id),
        ("continue", first.user_message_id),
        ("regenerate", uuid4()),
    ):
        with pytest.raises(NotFound):
            await press(house, anna, kind, first.conversation_id, message_id, "x")


async def test_edit_without_words_is_refused(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    with pytest.raises(InvalidInput, match="empty"):
        await press(house, anna, "edit", first.conversation_id, first.user_message_id, " \n")


@pytest.mark.parametrize("kind", ["edit", "regenerate", "retry", "continue"])
async def test_nothing_can_be_asked_while_an_answer_is_written(
    house: House, anna: UUID, backend: ScriptedBackend, kind: str
) -> None:
    backend.script(*answer("Part", stop_reason="max_tokens"))
    first = await ask(house, anna, "One")
    gate = Gate()
    backend.script(message_start(), gate, *answer("x"))
    live = await house.turns.send(anna, question("Two", first.conversation_id))
    target = first.user_message_id if kind == "edit" else first.assistant_message_id
    with pytest.raises(Conflict) as refused:
        await press(house, anna, kind, first.conversation_id, target, "x")
    assert refused.value.turn_id == live.turn_id
    gate.open()
    await follow(house, anna, live.turn_id)


async def test_the_same_press_twice_makes_one_turn(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    wanted = question("", first.conversation_id, kind="regenerate", message_id=first.assistant_message_id)
    sent = await house.turns.send(anna, wanted)
    assert await house.turns.send(anna, wanted) == sent
    await follow(house, anna, sent.turn_id)
    other = SendRequest(wanted.submission_key, "", first.conversation_id, first.user_message_id, "regenerate")
    with pytest.raises(Conflict, match="sent before"):
        await house.turns.send(anna, other)


async def test_unanswered_question_can_get_an_answer(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    first = await ask(house, anna, "One")
    await house.branches.delete(anna, first.conversation_id, first.assistant_message_id)
    assert texts(await shown(house, anna, first)) == ["One"]
    again = await press(house, anna, "regenerate", first.conversation_id, first.user_message_id)
    assert sent_contents(backend) == ["One"]
    assert len((await shown(house, anna, again)).messages) == 2


async def test_deleting_takes_all_below_on_every_branch(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    await press(house, anna, "edit", first.conversation_id, second.user_message_id, "Zwei")
    await press(house, anna, "edit", first.conversation_id, first.user_message_id, "Uno")
    assert await house.branches.count_below(anna, first.conversation_id, first.assistant_message_id) == 5
    await house.branches.select(anna, first.conversation_id, first.user_message_id)
    await house.branches.delete(anna, first.conversation_id, first.assistant_message_id)
    assert texts(await shown(house, anna, first)) == ["One"]
    await house.branches.delete(anna, first.conversation_id, first.user_message_id)
    assert texts(await shown(house, anna, first))[0] == "Uno"
    async with house.database.read() as session:
        rows = list(await session.scalars(select(Turn).order_by(Turn.id)))
        left = list(await session.scalars(select(Message.text).order_by(Message.seq)))
    assert len(left) == 2
    assert [row.request_sha256 is None for row in rows] == [True, True, True, False]
    assert all(row.input_tokens is not None for row in rows)


async def test_deleting_everything_leaves_an_empty_conversation_to_go_on_in(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "One")
    await house.branches.delete(anna, first.conversation_id, first.user_message_id)
    assert texts(await shown(house, anna, first)) == []
    await ask(house, anna, "Anew", first.conversation_id)
    assert sent_contents(backend) == ["Anew"]


async def test_deleting_while_it_is_written_stops_the_answer(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "One")
    gate = Gate()
    backend.script(message_start(), delta("Secret"), gate, *ending(output_tokens=2))
    live = await house.turns.send(anna, question("Two", first.conversation_id))
    await gate.arrived()
    await house.branches.delete(anna, first.conversation_id, live.user_message_id)
    await backend.until(lambda: backend.disconnects == 1)
    assert [event.kind for event in await follow(house, anna, live.turn_id)][-1] == "end"
    view = await shown(house, anna, first)
    assert (len(view.messages), view.live_turn_id) == (2, None)
    async with house.database.read() as session:
        assert "Secret" not in "".join(await session.scalars(select(Message.text)))


async def test_foreign_messages_are_not_found(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    bob = await add_user(house.database, "Bob")
    calls = (house.branches.text, house.branches.select, house.branches.delete, house.branches.count_below)
    for call in calls:
        with pytest.raises(NotFound):
            await call(bob, first.conversation_id, first.user_message_id)
        with pytest.raises(NotFound):
            await call(anna, first.conversation_id, uuid4())
    with pytest.raises(NotFound):
        await press(house, bob, "regenerate", first.conversation_id, first.assistant_message_id)
    assert await house.branches.text(anna, first.conversation_id, first.user_message_id) == "One"


async def test_messages_of_a_branch_are_replayed_byte_for_byte(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    """Along each branch an element of an earlier request is equal in a later one."""
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    old = backend.questions[-1].json()["messages"]
    edited = await press(house, anna, "edit", first.conversation_id, second.user_message_id, "Zwei")
    new = backend.questions[-1].json()["messages"]
    for chosen, earlier in ((second, old), (edited, new), (second, old)):
        await house.branches.select(anna, first.conversation_id, chosen.user_message_id)
        await ask(house, anna, "And then?", first.conversation_id)
        later = backend.questions[-1].json()["messages"]
        assert later[: len(earlier)] == earlier


async def test_damaged_parent_gives_a_readable_page(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    async with house.database.write() as session:
        circle = update(Message).where(Message.id == first.user_message_id)
        await session.execute(circle.values(parent_id=second.assistant_message_id))
    view = await shown(house, anna, second)
    assert texts(view)[0] == "One"
    assert len(view.messages) == 4
    await ask(house, anna, "Three", first.conversation_id)
