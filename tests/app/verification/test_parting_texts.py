"""What a turn sent in place of what was sent before: read back from the rows of both."""

from uuid import UUID, uuid4

import pytest
from sqlalchemy import delete, update

from app.house import House
from app.models import SystemPrompt, Turn
from app.verification.parting_texts import BEFORE, BEHIND, PartingTexts, Passage
from tests.app.houses import ask

pytestmark = pytest.mark.anyio


async def two_turns(house: House, owner: UUID, old: str, new: str) -> UUID:
    """The id of the second one, with the other system prompt."""
    first = await ask(house, owner, "One", system_prompt=old)
    await house.conversations.set_system_prompt(owner, first.conversation_id, new)
    return (await ask(house, owner, "Two", first.conversation_id)).turn_id


async def mark(house: House, turn_id: UUID, where: str | None, offset: int | None) -> None:
    async with house.database.write() as session:
        await session.execute(
            update(Turn).where(Turn.id == turn_id).values(diverged_where=where, diverged_offset=offset)
        )


async def test_both_system_prompts_are_shown_around_the_place(house: House, anna: UUID) -> None:
    old, new = "x" * 100 + "It is 14:05 now." + "y" * 300, "x" * 100 + "It is 15:05 now." + "y" * 300
    turn_id = await two_turns(house, anna, old, new)
    await mark(house, turn_id, "system", 107)
    before, after = "x" * 73 + "It is 1", ":05 now." + "y" * (BEHIND - 9)
    assert len(before) == BEFORE
    assert await house.partings.of(turn_id) == PartingTexts(
        old=Passage(before, "4", after, begins_earlier=True, goes_on=True),
        new=Passage(before, "5", after, begins_earlier=True, goes_on=True),
    )


async def test_what_is_only_in_one_text_is_nothing_in_the_other(house: House, anna: UUID) -> None:
    turn_id = await two_turns(house, anna, "Be terse.", "Be very terse.")
    await mark(house, turn_id, "system", 3)
    parting = await house.partings.of(turn_id)
    assert parting is not None
    assert (parting.old.before, parting.old.changed, parting.old.after) == ("Be ", "", "terse.")
    assert (parting.new.before, parting.new.changed, parting.new.after) == ("Be ", "very ", "terse.")
    assert not parting.new.begins_earlier
    assert not parting.new.goes_on


async def test_messages_are_those_that_were_sent_and_the_answer_behind_them(house: House, anna: UUID) -> None:
    turn_id = await two_turns(house, anna, "Be terse.", "Be terse.")
    await mark(house, turn_id, "messages.1", 0)
    parting = await house.partings.of(turn_id)
    assert parting is not None
    assert parting.old == parting.new
    assert parting.new.after == "This is answer number 1."
    await mark(house, turn_id, "messages.9", 0)
    assert await house.partings.of(turn_id) is None


async def test_nothing_is_shown_of_what_has_not_parted_or_is_not_stored_any_more(house: House, anna: UUID) -> None:
    assert await house.partings.of(await two_turns(house, anna, "Be terse.", "Be terse.")) is None
    assert await house.partings.of(uuid4()) is None
    turn_id = await two_turns(house, anna, "Be terse.", "Be very terse.")
    assert await house.partings.of(turn_id) is not None
    async with house.database.write() as session:
        await session.execute(update(Turn).values(prompt_format=99))
    assert await house.partings.of(turn_id) is None
    async with house.database.write() as session:
        await session.execute(update(Turn).values(prompt_format=1, system_prompt_id=None))
        await session.execute(delete(SystemPrompt).where(SystemPrompt.text == "Be terse."))
    assert await house.partings.of(turn_id) is not None
