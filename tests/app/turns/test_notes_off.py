"""Context notes that are switched off: later messages have none, what was frozen stays as it is."""

from uuid import UUID

import pytest
from sqlalchemy import select

from app.house import House
from app.models import Message
from tests.app.houses import ask
from tests.app.turns.test_kinds import press
from tests.app.verification.test_verification import lines, verified
from tests.scripted_backend import ScriptedBackend, answer, error_reply

pytestmark = pytest.mark.anyio

NOTE = "\n\n<context-note>"


async def switch_notes(house: House, owner: UUID, *, on: bool) -> None:
    await house.profiles.change(owner, locale=None, time_zone=None, default_system_prompt="", context_notes=on)


def asked(backend: ScriptedBackend) -> list[str]:
    """The last question of each request."""
    return [request.json()["messages"][-1]["content"] for request in backend.questions]


async def notes_of(house: House) -> list[bool]:
    """Whether each question has one, in the order in which they were accepted."""
    query = select(Message.context_note).where(Message.role == "user").order_by(Message.seq)
    async with house.database.read() as session:
        return [note is not None for note in await session.scalars(query)]


async def test_questions_and_edits_have_no_note_once_notes_are_off(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(house, anna, "One", time_zone="Asia/Seoul")
    await switch_notes(house, anna, on=False)
    second = await ask(house, anna, "Two", first.conversation_id, time_zone="Asia/Seoul")
    await press(house, anna, "edit", first.conversation_id, first.user_message_id, "Uno")
    await switch_notes(house, anna, on=True)
    await press(house, anna, "edit", first.conversation_id, second.user_message_id, "Due")
    assert await notes_of(house) == [True, False, False, True]
    one, two, uno, due = asked(backend)
    assert one.startswith(f"One{NOTE}")
    assert (two, uno) == ("Two", "Uno")
    assert due.startswith(f"Due{NOTE}")
    assert backend.questions[1].json()["messages"][0]["content"] == one


@pytest.mark.parametrize("first_on", [True, False])
async def test_further_answers_keep_what_was_frozen(
    house: House, anna: UUID, backend: ScriptedBackend, first_on: bool
) -> None:
    await switch_notes(house, anna, on=first_on)
    backend.script(error_reply(400, "invalid_request_error"))
    sent = await ask(house, anna, "One")
    await switch_notes(house, anna, on=not first_on)
    backend.script(*answer("Once ", stop_reason="max_tokens"))
    await press(house, anna, "retry", sent.conversation_id, sent.assistant_message_id)
    await press(house, anna, "continue", sent.conversation_id, sent.assistant_message_id)
    await press(house, anna, "regenerate", sent.conversation_id, sent.assistant_message_id)
    assert await notes_of(house) == [first_on]
    questions = {request.json()["messages"][0]["content"] for request in backend.questions}
    assert len(backend.questions) == 4
    assert len(questions) == 1
    assert (NOTE in questions.pop()) is first_on


async def test_messages_without_notes_are_verified_and_survive_export_and_import(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    await switch_notes(house, anna, on=False)
    await ask(house, anna, "Two", first.conversation_id)
    findings = await verified(house.database)
    assert (lines(findings), findings.matching) == ([], 2)
    _, exported = await house.exports.conversation(anna, first.conversation_id)
    imported = await house.imports.conversation(anna, exported)
    view = await house.conversations.view(anna, imported)
    assert [bool(message.context_note) for message in view.messages if message.role == "user"] == [True, False]
    assert lines(await verified(house.database)) == []
