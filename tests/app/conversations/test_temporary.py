"""Temporary conversations are in no list, search or export, and go as a deletion goes."""

from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import select

from app.errors import Conflict, NotFound
from app.house import House, open_house
from app.models import AuditEntry, Conversation, Message, Turn
from app.turns import SendRequest, SentTurn
from tests.app.houses import QUICK, MovingClock, add_user, ask, follow, question, settings_for, until
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio


async def ask_temporarily(house: House, owner: UUID, text: str = "Secret words") -> SentTurn:
    sent = await house.turns.send(owner, SendRequest(f"key of {text}", text, temporary=True))
    await follow(house, owner, sent.turn_id)
    return sent


async def is_gone(house: House, owner: UUID, conversation_id: UUID) -> bool:
    try:
        await house.conversations.view(owner, conversation_id)
    except NotFound:
        return True
    return False


async def test_a_temporary_conversation_is_never_listed_searched_or_exported(house: House, anna: UUID) -> None:
    sent = await ask_temporarily(house, anna)
    assert (await house.conversations.view(anna, sent.conversation_id)).title == "Secret words"
    with pytest.raises(Conflict, match="no list"):
        await house.lifecycle.pin(anna, sent.conversation_id, True)
    for shelf in ("recent", "pinned", "archived"):
        await house.lifecycle.archive(anna, sent.conversation_id, shelf == "archived")
        assert await house.conversations.list(anna, shelf) == []
    assert (await house.search.find(anna, "secret")).hits == ()
    for call in (house.exports.conversation, house.exports.branch):
        with pytest.raises(NotFound):
            await call(anna, sent.conversation_id)
    content = b"".join([piece async for piece in await house.exports.everything(anna)])
    assert b"conversations/" not in content


async def test_it_goes_a_day_after_its_last_turn_and_only_then(house: House, anna: UUID, clock: MovingClock) -> None:
    sent = await ask_temporarily(house, anna)
    kept = await ask(house, anna, "Kept")
    clock.advance(hours=23)
    await ask(house, anna, "More", sent.conversation_id)
    clock.advance(hours=23, minutes=59)
    await house.temporary.sweep()
    assert not await is_gone(house, anna, sent.conversation_id)
    clock.advance(minutes=1)
    await house.temporary.sweep()
    assert await is_gone(house, anna, sent.conversation_id)
    assert not await is_gone(house, anna, kept.conversation_id)
    async with house.database.read() as session:
        texts = list(await session.scalars(select(Message.text)))
        turns = list(await session.scalars(select(Turn).where(Turn.conversation_id == sent.conversation_id)))
        actions = list(await session.scalars(select(AuditEntry.action)))
        titles = set(await session.scalars(select(Conversation.title)))
    assert "Secret words" not in texts
    assert titles == {"", "Kept"}
    assert [turn.output_tokens is not None for turn in turns] == [True, True]
    assert actions == ["conversation_expired"]


async def test_a_long_answer_counts_from_its_end(
    house: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Long"), gate, *answer("x")[1:])
    sent = await house.turns.send(anna, SendRequest("key", "Slow", temporary=True))
    await gate.arrived()
    clock.advance(hours=20)
    gate.open()
    await follow(house, anna, sent.turn_id)
    clock.advance(hours=20)
    await house.temporary.sweep()
    assert not await is_gone(house, anna, sent.conversation_id)


async def test_what_goes_on_meanwhile_is_not_swept_away(house: House, anna: UUID, clock: MovingClock) -> None:
    sent = await ask_temporarily(house, anna)
    swept_at = clock.now
    clock.advance(hours=1)
    await ask(house, anna, "More", sent.conversation_id)
    with pytest.raises(NotFound):
        await house.conversations.delete(anna, sent.conversation_id, expired_at=swept_at)
    assert not await is_gone(house, anna, sent.conversation_id)


async def test_signing_out_ends_those_of_the_owner_with_their_live_answers(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    berta = await add_user(house.database, "Berta")
    theirs = await ask_temporarily(house, berta)
    kept = await ask(house, anna, "Kept")
    gate = Gate()
    backend.script(message_start(), gate, *answer("x")[1:])
    sent = await house.turns.send(anna, SendRequest("key", "Going", temporary=True))
    await gate.arrived()
    await house.temporary.end_of(anna)
    await backend.until(lambda: backend.disconnects == 1)
    assert await is_gone(house, anna, sent.conversation_id)
    assert not await is_gone(house, anna, kept.conversation_id)
    assert not await is_gone(house, berta, theirs.conversation_id)
    gate.open()


async def test_the_sweep_runs_beside_requests(database_url: str, backend_url: str, clock: MovingClock) -> None:
    rhythm = replace(QUICK, sweep=0.02)
    async with open_house(settings_for(database_url, backend_url), clock=clock, rhythm=rhythm) as house:
        anna = await add_user(house.database)
        sent = await ask_temporarily(house, anna)
        clock.advance(days=2)

        async def gone() -> bool:
            return await is_gone(house, anna, sent.conversation_id)

        await until(gone)


async def test_only_a_new_conversation_can_be_made_temporary(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "Listed")
    further = question("More", sent.conversation_id)
    request = SendRequest(further.submission_key, "More", sent.conversation_id, temporary=True)
    await follow(house, anna, (await house.turns.send(anna, request)).turn_id)
    assert [row.title for row in await house.conversations.list(anna)] == ["Listed"]
