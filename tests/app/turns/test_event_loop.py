"""Nothing of ours blocks the event loop, and a request that breaks off leaves nothing behind."""

import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import anyio
import pytest
from blockbuster import blockbuster_ctx

from app.house import House, open_house
from tests.app.houses import QUICK, add_user, ask, follow, last_answer, question, settings_for, until
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio


@contextmanager
def nothing_blocks() -> Iterator[None]:
    """But the first use of a time zone, which reads one small file of the system."""
    with blockbuster_ctx() as blockbuster:
        for function in blockbuster.functions.values():
            function.can_block_in("zoneinfo/_tzpath.py", {"find_tzfile"})
            function.can_block_in("zoneinfo/_common.py", {"load_data"})
            function.can_block_in("app/context_note.py", {"find_zone"})
        yield


async def test_a_whole_turn_blocks_nothing(house: House, backend: ScriptedBackend) -> None:
    owner = await add_user(house.database)
    with nothing_blocks():
        sent = await ask(house, owner, "One", time_zone="Pacific/Auckland", system_prompt="Be nice")
        await house.turns.send(owner, question("Two", sent.conversation_id))
        await house.conversations.view(owner, sent.conversation_id)
        await house.overviews.choices()
        await house.conversations.delete(owner, sent.conversation_id)
        await house.sessions.resolve(await house.sessions.start(owner))


async def test_readers_and_stops_that_break_off_anywhere_leave_nothing_behind(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    numbers = random.Random(7)
    conversation: UUID | None = None
    for _ in range(25):
        gate = Gate()
        backend.script(message_start(), delta("a"), gate, delta("b"), *answer("")[2:])
        sent = await house.turns.send(anna, question(conversation_id=conversation))
        conversation = sent.conversation_id
        with anyio.move_on_after(numbers.random() * 0.02):
            await follow(house, anna, sent.turn_id)
        with anyio.move_on_after(numbers.random() * 0.01):
            await house.conversations.view(anna, conversation)
        if numbers.random() < 0.5:
            with anyio.move_on_after(numbers.random() * 0.005):
                await house.turns.stop(anna, sent.turn_id)
        gate.open()
        await follow(house, anna, sent.turn_id)
    await backend.until(lambda: backend.open_streams == 0)
    gc.collect()

    async def nothing_is_checked_out() -> bool:
        out: int = house.database.pool.checkedout()  # type: ignore[attr-defined]
        return out == 0

    await until(nothing_is_checked_out)
    assert conversation is not None
    assert len((await house.conversations.view(anna, conversation)).messages) == 50


async def test_a_send_that_is_cut_off_is_made_whole_or_not_at_all(
    database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    settings = settings_for(database_url, backend_url, live_turns_per_user=50)
    async with open_house(settings, rhythm=QUICK) as house:
        owner = await add_user(house.database)
        for pause in range(12):
            with anyio.move_on_after(pause / 500):
                await house.turns.send(owner, question())

        async def nothing_is_live() -> bool:
            return not any(row.running for row in await house.conversations.list(owner))

        await until(nothing_is_live)
        rows = await house.conversations.list(owner)
        for row in rows:
            last = await last_answer(house, owner, row.id)
            assert last.turn is not None
            assert last.turn.status == "completed"
    assert len(backend.questions) == len(rows) > 0
