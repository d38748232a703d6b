"""The turns of one conversation: their branches, and what the turns around one tell of it."""

from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from app.errors import NotFound
from app.house import House
from app.models import Message, Turn
from tests.app.houses import add_user, ask

pytestmark = pytest.mark.anyio


async def change(house: House, turn_id: UUID, **values: object) -> None:
    async with house.database.write() as session:
        await session.execute(update(Turn).where(Turn.id == turn_id).values(**values))


async def test_branches_hold_the_turns_of_their_answers(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    view = await house.conversations.view(anna, first.conversation_id)
    again = await ask(house, anna, "", first.conversation_id, kind="regenerate", message_id=view.messages[-1].id)
    report = await house.reports.conversation(first.conversation_id)
    assert [branch.turn_ids for branch in report.branches] == [
        {first.turn_id, second.turn_id}, {first.turn_id, again.turn_id},
    ]  # fmt: skip
    assert [branch.active for branch in report.branches] == [False, True]
    assert len(report.turns) == 3


async def test_circle_in_a_damaged_tree_ends_the_walk(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "One")
    await ask(house, anna, "Two", sent.conversation_id)
    view = await house.conversations.view(anna, sent.conversation_id)
    root, answer = view.messages[0].id, view.messages[1].id
    async with house.database.write() as session:
        await session.execute(update(Message).where(Message.id == root).values(parent_id=answer))
    report = await house.reports.conversation(sent.conversation_id)
    assert [len(branch.turn_ids) for branch in report.branches] == [2]


async def test_deleted_conversation_has_turns_and_no_branches(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "One")
    await house.conversations.delete(anna, sent.conversation_id)
    report = await house.reports.conversation(sent.conversation_id)
    assert (len(report.turns), report.branches) == (1, ())
    with pytest.raises(NotFound):
        await house.reports.own_conversation(anna, sent.conversation_id)


async def test_cuts_and_other_servers_are_told_of_the_turn_behind_them(house: House, anna: UUID) -> None:
    turns = [await ask(house, anna, "One")]
    turns += [await ask(house, anna, text, turns[0].conversation_id) for text in ("Two", "Three", "Four")]
    question = (await house.conversations.view(anna, turns[0].conversation_id)).messages[2].id
    for turn, serving_id in zip(turns, ("a", None, "b", "b"), strict=True):
        await change(house, turn.turn_id, serving_id=serving_id)
    for turn in turns[2:]:
        await change(house, turn.turn_id, history_start_message_id=question)
    report = await house.reports.conversation(turns[0].conversation_id)
    assert [row.serving_changed for row in report.turns] == [False, False, True, False]
    assert [row.cut for row in report.turns] == [False, False, True, False]
    assert report.backend == "scripted"


async def test_turn_stands_between_its_neighbours(house: House, anna: UUID) -> None:
    turns = [await ask(house, anna, "One")]
    turns += [await ask(house, anna, text, turns[0].conversation_id) for text in ("Two", "Three")]
    await change(house, turns[1].turn_id, server_outcome="evicted", server_expected_tokens=9)
    report = await house.reports.turn(turns[1].turn_id)
    assert report.row.number == 2
    assert report.base is not None
    assert report.base.figures.id == turns[0].turn_id
    assert (report.previous_id, report.next_id) == (turns[0].turn_id, turns[2].turn_id)
    assert (report.owner_name, report.server_outcome, report.server_expected_tokens) == ("Anna", "evicted", 9)
    assert (await house.reports.turn(turns[2].turn_id)).next_id is None
    assert await house.reports.own_turn(anna, turns[0].conversation_id, turns[1].turn_id) == report


async def test_turn_without_a_conversation_stands_alone(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "One")
    await change(house, sent.turn_id, conversation_id=None)
    report = await house.reports.turn(sent.turn_id)
    assert (report.conversation_id, report.reference, report.previous_id, report.next_id) == (None,) * 4
    assert report.row.number == 1


async def test_foreign_and_missing_turns_are_not_found(house: House, anna: UUID) -> None:
    sent, other = await ask(house, anna, "One"), await ask(house, anna, "Other")
    berta = await add_user(house.database, "Berta")
    for owner, conversation, turn in (
        (berta, sent.conversation_id, sent.turn_id),
        (anna, sent.conversation_id, other.turn_id),
        (anna, sent.conversation_id, uuid4()),
        (anna, uuid4(), sent.turn_id),
    ):
        with pytest.raises(NotFound):
            await house.reports.own_turn(owner, conversation, turn)
    with pytest.raises(NotFound):
        await house.reports.turn(uuid4())
    with pytest.raises(NotFound):
        await house.reports.own_conversation(berta, sent.conversation_id)
    with pytest.raises(NotFound):
        await house.reports.title(uuid4())
