"""What nobody has touched for long goes as if its owner had deleted it, where the settings say so."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from app.conversations.retention import Due
from app.errors import NotFound
from app.house import House, open_house
from app.models import AuditEntry, Conversation, Message, Submission, SummedDay, SystemPrompt, Turn
from app.reports.overview import Selection
from tests.app.houses import QUICK, MovingClock, add_user, ask, follow, question, settings_for, until
from tests.scripted_backend import Gate, ScriptedBackend, answer

pytestmark = pytest.mark.anyio

OFTEN = replace(QUICK, retain=0.02)


@pytest.fixture
async def keeping(database_url: str, backend_url: str, clock: MovingClock) -> AsyncIterator[House]:
    """Conversations for 30 days, figures for 100; swept by hand."""
    settings = settings_for(database_url, backend_url, retention_days=30, turn_retention_days=100)
    async with open_house(settings, clock=clock, rhythm=QUICK) as house:
        yield house


@pytest.fixture
async def anna(keeping: House) -> UUID:
    return await add_user(keeping.database)


async def titles(house: House) -> set[str]:
    async with house.database.read() as session:
        return set(await session.scalars(select(Conversation.title).where(Conversation.deleted_at.is_(None))))


async def count(house: House, table: type[Message | SystemPrompt | Turn | Submission | SummedDay]) -> int:
    async with house.database.read() as session:
        return await session.scalar(select(func.count()).select_from(table)) or 0


async def test_what_nobody_has_touched_goes_and_its_figures_stay(
    keeping: House, anna: UUID, clock: MovingClock
) -> None:
    old = await ask(keeping, anna, "Old", system_prompt="Be nice")
    clock.advance(days=2)
    await ask(keeping, anna, "Newer")
    clock.advance(days=28)
    await keeping.retention.sweep()
    assert await titles(keeping) == {"Old", "Newer"}
    clock.advance(seconds=1)
    await keeping.retention.sweep()
    assert await titles(keeping) == {"Newer"}
    async with keeping.database.read() as session:
        turn = await session.get_one(Turn, old.turn_id)
        entry = (await session.scalars(select(AuditEntry))).one()
        reference = (await session.get_one(Conversation, old.conversation_id)).reference
    assert (turn.output_tokens, turn.request_sha256, turn.user_message_id) == (6, None, None)
    assert (entry.action, entry.actor_id, entry.subject) == ("conversation_aged_out", None, reference)
    assert await count(keeping, Message) == 2
    assert await count(keeping, SystemPrompt) == 0


async def test_pinned_temporary_touched_and_imported_ones_stay(keeping: House, anna: UUID, clock: MovingClock) -> None:
    sent = {title: await ask(keeping, anna, title) for title in ("Pinned", "Renamed", "Prompted", "Answered", "Gone")}
    file = json.loads((await keeping.exports.conversation(anna, sent["Gone"].conversation_id))[1])
    file["conversation"]["title"] = "Imported"
    await keeping.lifecycle.pin(anna, sent["Pinned"].conversation_id, True)
    temporary = await ask(keeping, anna, "Temporary")
    async with keeping.database.write() as session:
        found = await session.get_one(Conversation, temporary.conversation_id)
        found.expires_at = clock.now + timedelta(days=90)
    clock.advance(days=31)
    await keeping.conversations.rename(anna, sent["Renamed"].conversation_id, "Renamed")
    await keeping.conversations.set_system_prompt(anna, sent["Prompted"].conversation_id, "Be nice")
    await ask(keeping, anna, "More", sent["Answered"].conversation_id)
    await keeping.imports.conversation(anna, json.dumps(file).encode())
    await keeping.retention.sweep()
    stays = {"Pinned", "Renamed", "Prompted", "Answered", "Imported", "Temporary"}
    assert await titles(keeping) == stays
    await keeping.lifecycle.pin(anna, sent["Pinned"].conversation_id, False)
    await keeping.retention.sweep()
    assert await titles(keeping) == stays
    clock.advance(days=31)
    await keeping.lifecycle.archive(anna, sent["Pinned"].conversation_id, True)
    await keeping.retention.sweep()
    assert await titles(keeping) == {"Temporary"}


async def test_archiving_a_pinned_one_gives_it_its_time(keeping: House, anna: UUID, clock: MovingClock) -> None:
    sent = await ask(keeping, anna, "Pinned")
    await keeping.lifecycle.pin(anna, sent.conversation_id, True)
    clock.advance(days=31)
    await keeping.lifecycle.archive(anna, sent.conversation_id, True)
    await keeping.retention.sweep()
    assert await titles(keeping) == {"Pinned"}


async def test_what_was_touched_meanwhile_is_not_deleted(keeping: House, anna: UUID, clock: MovingClock) -> None:
    sent = await ask(keeping, anna, "Old")
    swept_at = clock.now
    clock.advance(hours=1)
    await ask(keeping, anna, "More", sent.conversation_id)
    with pytest.raises(NotFound):
        await keeping.conversations.delete(anna, sent.conversation_id, untouched_since=swept_at)
    assert await titles(keeping) == {"Old"}


async def test_old_figures_of_deleted_conversations_go_and_those_of_others_stay(
    keeping: House, anna: UUID, clock: MovingClock
) -> None:
    deleted = await ask(keeping, anna, "Deleted")
    kept = await ask(keeping, anna, "Kept")
    await keeping.lifecycle.pin(anna, kept.conversation_id, True)
    await keeping.conversations.delete(anna, deleted.conversation_id)
    clock.advance(days=100)
    for _ in range(10):
        await keeping.day_sums.sweep()
    assert await count(keeping, SummedDay) == 100
    await keeping.retention.sweep()
    assert await count(keeping, Turn) == 2
    clock.advance(seconds=1)
    await keeping.retention.sweep()
    assert await count(keeping, Turn) == 1
    assert await count(keeping, Submission) == 1
    assert await count(keeping, SummedDay) == 99
    further = await ask(keeping, anna, "More", kept.conversation_id)
    async with keeping.database.read() as session:
        assert (await session.get_one(Turn, further.turn_id)).base_turn_id == kept.turn_id
    everything = Selection(None, clock() + timedelta(seconds=1))
    assert [row.turns for row in (await keeping.overviews.ranking(everything)).rows] == [2]
    assert (await keeping.overviews.tiles(everything)).turns == 2
    counted = (await keeping.turn_counters.read()).ended
    assert sum(amounts["turns"] for amounts in counted.values()) == 3


async def test_what_is_due_is_what_the_sweep_takes(keeping: House, anna: UUID, clock: MovingClock) -> None:
    start = clock()
    deleted = await ask(keeping, anna, "Deleted")
    pinned = await ask(keeping, anna, "Pinned")
    await keeping.conversations.delete(anna, deleted.conversation_id)
    await keeping.lifecycle.pin(anna, pinned.conversation_id, True)
    assert await keeping.retention.due_conversations() == Due(30, 0, None)
    assert await keeping.retention.due_turns() == Due(100, 0, start + timedelta(days=100))
    clock.advance(days=50)
    await ask(keeping, anna, "Old")
    clock.advance(days=20)
    await ask(keeping, anna, "Newer")
    newer = clock()
    clock.advance(days=30)
    assert await keeping.retention.due_conversations() == Due(30, 1, newer + timedelta(days=30))
    clock.advance(seconds=1)
    assert await keeping.retention.due_conversations() == Due(30, 2, None)
    assert await keeping.retention.due_turns() == Due(100, 1, None)
    await keeping.retention.sweep()
    assert (await keeping.retention.due_conversations()).now == 0
    assert await titles(keeping) == {"Pinned"}


async def test_nothing_is_due_without_the_settings(house: House) -> None:
    assert await house.retention.due_conversations() == await house.retention.due_turns() == Due(None)


async def test_a_figure_that_others_are_based_on_goes_without_them(
    keeping: House, anna: UUID, clock: MovingClock
) -> None:
    first = await ask(keeping, anna, "One")
    second = await ask(keeping, anna, "Two", first.conversation_id)
    await keeping.conversations.delete(anna, first.conversation_id)
    async with keeping.database.write() as session:
        younger = update(Turn).where(Turn.id == second.turn_id)
        await session.execute(younger.values(created_at=clock.now + timedelta(days=1)))
    clock.advance(days=101)
    await keeping.retention.sweep()
    async with keeping.database.read() as session:
        (left,) = await session.scalars(select(Turn))
    assert (left.id, left.base_turn_id, left.output_tokens) == (second.turn_id, None, 6)


async def test_a_live_turn_stays(keeping: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend) -> None:
    gate = Gate()
    backend.script(gate, *answer("late"))
    sent = await keeping.turns.send(anna, question("Slow"))
    await gate.arrived()
    async with keeping.database.write() as session:
        await session.execute(update(Turn).values(assistant_message_id=None))
    clock.advance(days=101)
    await keeping.retention.sweep()
    assert await count(keeping, Turn) == 1
    gate.open()
    await follow(keeping, anna, sent.turn_id)


async def test_without_the_settings_nothing_goes(
    database_url: str, backend_url: str, clock: MovingClock, backend: ScriptedBackend
) -> None:
    async with open_house(settings_for(database_url, backend_url), clock=clock, rhythm=QUICK) as house:
        anna = await add_user(house.database)
        await ask(house, anna, "Kept")
        deleted = await ask(house, anna, "Deleted")
        await house.conversations.delete(anna, deleted.conversation_id)
        clock.advance(days=5000)
        await house.retention.sweep()
        assert await titles(house) == {"Kept"}
        assert await count(house, Turn) == 2


async def test_it_runs_beside_requests(database_url: str, backend_url: str, clock: MovingClock) -> None:
    settings = settings_for(database_url, backend_url, retention_days=1)
    async with open_house(settings, clock=clock, rhythm=OFTEN) as house:
        await ask(house, await add_user(house.database), "Old")
        clock.advance(days=2)

        async def gone() -> bool:
            return not await titles(house)

        await until(gone)
