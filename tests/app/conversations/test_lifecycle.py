"""Pinned, archived, unread, and the pages of the lists."""

from uuid import UUID, uuid4

import pytest

from app.conversations.lifecycle import MOST_PINNED, Standing
from app.conversations.listing import PAGE_LENGTH, Shelf
from app.conversations.paging import PageMark
from app.errors import Conflict, NotFound
from app.house import House
from app.models import Conversation
from tests.app.houses import MovingClock, add_user, ask, follow, question
from tests.scripted_backend import Gate, ScriptedBackend, answer

pytestmark = pytest.mark.anyio


async def titles(house: House, owner: UUID, shelf: Shelf = "recent") -> list[str]:
    return [row.title for row in await house.conversations.list(owner, shelf)]


async def add_many(house: House, owner: UUID, number: int) -> None:
    async with house.database.write() as session:
        session.add_all(
            Conversation(
                owner_id=owner,
                reference=f"{each:08}",
                title=f"Number {each}",
                created_at=house.clock(),
                updated_at=house.clock(),
            )
            for each in range(number)
        )


async def test_a_conversation_stands_on_one_shelf(house: House, anna: UUID) -> None:
    one, two = [(await ask(house, anna, text)).conversation_id for text in ("One", "Two")]
    await house.lifecycle.pin(anna, one, True)
    assert (await titles(house, anna, "pinned"), await titles(house, anna)) == (["One"], ["Two"])
    assert await house.lifecycle.standing(anna, one) == Standing(pinned=True, archived=False, expires_at=None)
    await house.lifecycle.archive(anna, one, True)
    assert (await titles(house, anna, "pinned"), await titles(house, anna, "archived")) == ([], ["One"])
    await house.lifecycle.archive(anna, one, False)
    await house.lifecycle.pin(anna, two, True)
    await house.lifecycle.pin(anna, two, False)
    assert sorted(await titles(house, anna)) == ["One", "Two"]


async def test_an_archived_conversation_goes_on_as_before(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "One")
    await house.lifecycle.archive(anna, sent.conversation_id, True)
    await ask(house, anna, "Two", sent.conversation_id)
    assert len((await house.conversations.view(anna, sent.conversation_id)).messages) == 4
    assert await titles(house, anna, "archived") == ["One"]


async def test_not_everything_can_be_pinned(house: House, anna: UUID) -> None:
    await add_many(house, anna, MOST_PINNED + 1)
    ids = [row.id for row in await house.conversations.list(anna)]
    for id_ in ids[:-1]:
        await house.lifecycle.pin(anna, id_, True)
    with pytest.raises(Conflict, match=str(MOST_PINNED)):
        await house.lifecycle.pin(anna, ids[-1], True)
    await house.lifecycle.pin(anna, ids[0], True)  # It is pinned already.
    await house.conversations.delete(anna, ids[0])
    await house.lifecycle.pin(anna, ids[-1], True)


async def test_pages_of_a_long_list_follow_each_other_without_gaps(house: House, anna: UUID) -> None:
    await add_many(house, anna, 1_000)
    await ask(house, await add_user(house.database, "Berta"), "Private")
    before, seen = None, []
    while rows := await house.conversations.list(anna, before=before):
        assert len(rows) <= PAGE_LENGTH
        seen += [row.title for row in rows]
        before = PageMark(rows[-1].updated_at, rows[-1].id)
    assert len(seen) == len(set(seen)) == 1_000


async def test_an_answer_is_unread_until_its_conversation_is_opened(
    house: House, anna: UUID, backend: ScriptedBackend, clock: MovingClock
) -> None:
    gate = Gate()
    backend.script(gate, *answer("x"))
    sent = await house.turns.send(anna, question())
    clock.advance(minutes=1)
    await house.lifecycle.mark_seen(anna, sent.conversation_id)
    (row,) = await house.conversations.list(anna)
    assert (row.running, row.unread) == (True, False)
    gate.open()
    await follow(house, anna, sent.turn_id)
    (row,) = await house.conversations.list(anna)
    assert (row.running, row.unread) == (False, True)
    await house.lifecycle.mark_seen(await add_user(house.database, "Berta"), sent.conversation_id)
    assert (await house.conversations.list(anna))[0].unread
    await house.lifecycle.mark_seen(anna, sent.conversation_id)
    assert not (await house.conversations.list(anna))[0].unread
    clock.advance(minutes=1)
    await ask(house, anna, "Again", sent.conversation_id)
    assert (await house.conversations.list(anna))[0].unread


async def test_an_import_is_not_unread(house: House, anna: UUID, clock: MovingClock) -> None:
    sent = await ask(house, anna)
    clock.advance(hours=1)
    _, file = await house.exports.conversation(anna, sent.conversation_id)
    copy = await house.imports.conversation(anna, file)
    assert {row.id: row.unread for row in await house.conversations.list(anna)}[copy] is False


async def test_strangers_get_what_they_get_for_missing_conversations(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    berta = await add_user(house.database, "Berta")
    for owner, conversation_id in ((berta, sent.conversation_id), (anna, uuid4())):
        for call in (
            house.lifecycle.standing(owner, conversation_id),
            house.lifecycle.pin(owner, conversation_id, True),
            house.lifecycle.archive(owner, conversation_id, True),
        ):
            with pytest.raises(NotFound):
                await call
