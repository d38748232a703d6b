"""Stored conversations tried in other ways, on both databases, with a model server whose tokens are words."""

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from app.errors import NotFound
from app.house import House, open_house
from app.instance_secret import instance_secret
from app.models import Turn
from app.settings import Backend
from app.turns.backends import Backends
from app.what_if import Obstacle, Read, WhatIfs
from tests.app.databases import SqliteFactory
from tests.app.houses import QUICK, MovingClock, add_user, ask, last_answer, settings_for
from tests.scripted_backend import COMPARE, CUT, Gate, Reply, ScriptedBackend, answer, delta, error_reply, message_start

pytestmark = pytest.mark.anyio

TO_THE_MINUTE = 5  # <system>, "Be", "nice.", "<context-note>Sunday", "2026-11-29"; the minute is the next word.


def inspecting(url: str, **changes: object) -> Backend:
    return Backend(name="scripted", base_url=url, early_message_start=True, prefill=True, inspection=True, **changes)


@pytest.fixture
async def house(database_url: str, backend_url: str, clock: MovingClock) -> AsyncIterator[House]:
    settings = settings_for(database_url, backend_url, backends=(inspecting(backend_url),))
    async with open_house(settings, clock=clock, rhythm=QUICK) as house:
        yield house


async def talk(house: House, owner: UUID, clock: MovingClock, *, seconds: float = 60, turns: int = 3) -> UUID:
    conversation_id = None
    for number in range(turns):
        clock.advance(seconds=seconds)
        sent = await ask(house, owner, f"Secret question {number}", conversation_id, system_prompt="Be nice.")
        conversation_id = sent.conversation_id
    assert conversation_id is not None
    return conversation_id


def compared(backend: ScriptedBackend) -> int:
    return sum(request.path == COMPARE for request in backend.requests)


async def test_a_clock_that_moves_on_loses_all_behind_it(house: House, anna: UUID, clock: MovingClock) -> None:
    found = await house.what_ifs.of_conversation(await talk(house, anna, clock))
    assert [turn.number for turn in found.turns] == [1, 2, 3]
    assert [turn.obstacle for turn in found.turns] == [None, None, None]
    assert [turn.real.lost for turn in found.turns if turn.real] == [0, 0, 0]
    assert [turn.clock.cached for turn in found.turns if turn.clock] == [0, TO_THE_MINUTE, TO_THE_MINUTE]
    for before, turn in zip(found.turns, found.turns[1:], strict=False):
        assert before.clock is not None
        assert turn.clock is not None
        assert before.figures.output_tokens is not None
        left = before.clock.prompt + before.figures.output_tokens - 1
        assert turn.clock.lost == left - TO_THE_MINUTE
    assert (found.clock.turns, found.real.turns, found.comparable) == (3, 3, 3)
    assert found.clock.computed > found.real.computed


async def test_turns_of_one_minute_have_one_clock_and_lose_nothing(
    house: House, anna: UUID, clock: MovingClock
) -> None:
    found = await house.what_ifs.of_conversation(await talk(house, anna, clock, seconds=1))
    assert [turn.clock.lost for turn in found.turns if turn.clock] == [0, 0, 0]
    assert found.turns[2].clock is not None
    assert found.turns[2].clock.cached > TO_THE_MINUTE
    assert found.clock.computed < found.real.computed  # One clock in all, where each question had its note.


async def test_another_answer_reads_the_same_prompt_but_for_its_clock(
    house: House, anna: UUID, clock: MovingClock
) -> None:
    conversation_id = await talk(house, anna, clock, turns=1)
    for seconds in (1, 60):
        clock.advance(seconds=seconds)
        answered = await last_answer(house, anna, conversation_id)
        await ask(house, anna, conversation_id=conversation_id, kind="regenerate", message_id=answered.id)
        turn = (await house.what_ifs.of_conversation(conversation_id)).turns[-1]
        assert turn.clock is not None
        read = turn.clock.prompt - 1 if seconds == 1 else TO_THE_MINUTE
        assert turn.clock == Read(turn.clock.prompt, read, turn.clock.prompt - 1 - read)


async def test_only_the_branch_is_shown_and_another_one_can_be(house: House, anna: UUID, clock: MovingClock) -> None:
    conversation_id = await talk(house, anna, clock, turns=2)
    view = await house.conversations.view(anna, conversation_id)
    await ask(house, anna, "Edited", conversation_id, kind="edit", message_id=view.messages[2].id)
    assert [turn.number for turn in (await house.what_ifs.of_conversation(conversation_id)).turns] == [1, 3]
    other = await house.what_ifs.of_conversation(conversation_id, view.messages[3].id)
    assert [turn.number for turn in other.turns] == [1, 2]
    nowhere = await house.what_ifs.of_conversation(conversation_id, uuid4())
    assert [turn.number for turn in nowhere.turns] == [1, 3]


async def test_deleted_turns_keep_their_numbers_and_cannot_be_rebuilt(
    house: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend
) -> None:
    conversation_id = await talk(house, anna, clock)
    question = (await house.conversations.view(anna, conversation_id)).messages[4]
    await house.branches.delete(anna, conversation_id, question.id)
    found = await house.what_ifs.of_owner(anna, conversation_id)
    assert sorted((t.obstacle or "", t.real is not None, t.blocks is not None) for t in found.turns) == [
        ("", True, True), ("", True, True), ("deleted", True, True),
    ]  # fmt: skip
    assert found.obstacles == {Obstacle.DELETED: 1}
    await house.conversations.delete(anna, conversation_id)
    asked = compared(backend)
    found = await house.what_ifs.of_conversation(conversation_id)
    assert found.obstacles == {Obstacle.DELETED: 3}
    assert (found.real.turns, found.blocks.turns, found.clock.turns) == (3, 3, 0)
    assert compared(backend) == asked
    with pytest.raises(NotFound):
        await house.what_ifs.of_owner(anna, conversation_id)


async def test_nobody_elses_and_missing_ones_are_not_found(house: House, anna: UUID, clock: MovingClock) -> None:
    conversation_id = await talk(house, anna, clock, turns=1)
    with pytest.raises(NotFound):
        await house.what_ifs.of_owner(await add_user(house.database, "Berta"), conversation_id)
    with pytest.raises(NotFound):
        await house.what_ifs.of_conversation(uuid4())


async def test_turns_without_figures_are_in_no_sum_and_nobody_is_asked(
    house: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend
) -> None:
    """One that failed, one whose server was silent, and one that has not ended."""
    conversation_id = await talk(house, anna, clock, turns=1)
    backend.script(error_reply(400, "invalid_request_error"))
    await ask(house, anna, "Two", conversation_id)
    backend.script(message_start(), delta("a"), *answer("b", usage={"input_tokens": 5}))
    await ask(house, anna, "Three", conversation_id)
    found = await house.what_ifs.of_conversation(conversation_id)
    assert [turn.obstacle for turn in found.turns] == [None, Obstacle.NO_FIGURES, Obstacle.NO_FIGURES]
    assert (len(found.turns), found.comparable, found.real.turns, found.obstacles) == (3, 1, 1, {})
    assert compared(backend) == 1


async def test_a_fault_stays_and_what_was_gone_is_not_read(house: House, anna: UUID, clock: MovingClock) -> None:
    conversation_id = await talk(house, anna, clock, turns=2)
    async with house.database.write() as session:
        last = (await session.scalars(select(Turn).order_by(Turn.id.desc()).limit(1))).one()
        last.input_tokens = (last.input_tokens or 0) + (last.cache_read_input_tokens or 0) - 3
        last.shortfall_tokens, last.fault, last.cache_read_input_tokens = last.expected_read_tokens, True, 3
    turn = (await house.what_ifs.of_conversation(conversation_id)).turns[1]
    assert turn.real is not None
    assert turn.clock is not None
    assert (turn.real.cached, turn.real.lost) == (3, turn.figures.expected_read_tokens)
    assert turn.clock.cached == 3


async def test_first_turn_loses_nothing_of_what_others_had_left(house: House, anna: UUID, clock: MovingClock) -> None:
    conversation_id = await talk(house, anna, clock, turns=1)
    async with house.database.write() as session:
        first = (await session.scalars(select(Turn))).one()
        first.input_tokens, first.cache_read_input_tokens = (first.input_tokens or 0) - 1, 1
    turn = (await house.what_ifs.of_conversation(conversation_id)).turns[0]
    assert turn.blocks is not None
    assert turn.clock is not None
    assert (turn.blocks.cached, turn.blocks.lost, turn.clock.lost) == (0, 0, 0)


async def test_another_model_is_compared_with_nothing_but_itself(
    house: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend
) -> None:
    conversation_id = await talk(house, anna, clock, turns=2)
    async with house.database.write() as session:
        await session.execute(update(Turn).where(Turn.base_turn_id.is_not(None)).values(model="other"))
    await house.what_ifs.of_conversation(conversation_id)
    a, b = (backend.requests[-1].json()[side] for side in "ab")
    assert (a["model"], b["model"]) == ("other", "other")
    assert a["system"] == "Be nice."
    assert b["system"].startswith("Be nice.\n\n<context-note>")
    assert a["metadata"] == b["metadata"]


async def test_seconds_come_from_the_measured_speed_or_not_at_all(house: House, anna: UUID, clock: MovingClock) -> None:
    conversation_id = await talk(house, anna, clock)
    found = await house.what_ifs.of_conversation(conversation_id)
    assert (found.real.lost_seconds, found.clock.lost_seconds, found.more_seconds(lambda t: t.clock)) == (0, None, None)
    async with house.database.write() as session:
        session.add(
            Turn(
                purpose="chat",
                kind="question",
                prompt_format=1,
                status="completed",
                backend="scripted",
                input_tokens=1000,
                cache_creation_input_tokens=0,
                prefill_ms=2000,
                created_at=clock(),
            )
        )
    found = await house.what_ifs.of_conversation(conversation_id)
    assert found.clock.lost_seconds == pytest.approx(found.clock.lost / 500)
    more = found.clock.computed - found.real.computed
    assert found.more_seconds(lambda turn: turn.clock) == pytest.approx(more / 500)


async def test_a_what_if_has_no_words(house: House, anna: UUID, clock: MovingClock) -> None:
    found = await house.what_ifs.of_conversation(await talk(house, anna, clock))
    assert "Secret" not in str(asdict(found))
    assert "nice" not in str(asdict(found))


@pytest.mark.parametrize(
    ("replies", "obstacles"),
    [
        ([error_reply(403, "permission_error")], [Obstacle.REFUSED] * 3),
        ([error_reply(404, "not_found_error")], [Obstacle.NO_MODEL] * 3),
        ([error_reply(400, "invalid_request_error")], [Obstacle.FAILED, None, None]),
        ([CUT, CUT, CUT], [Obstacle.AWAY] * 3),
    ],
)
async def test_why_a_server_does_not_compare(
    sqlite_factory: SqliteFactory,
    backend: ScriptedBackend,
    backend_url: str,
    clock: MovingClock,
    replies: list[object],
    obstacles: list[Obstacle | None],
) -> None:
    """One that has failed is not asked again; a request that it does not take is no reason to think so."""
    url = sqlite_factory.migrated()
    settings = settings_for(url, backend_url, backends=(inspecting(backend_url),))
    async with open_house(settings, clock=clock, rhythm=QUICK) as house:
        conversation_id = await talk(house, await add_user(house.database), clock)
        for reply in replies:
            backend.script(reply, path=COMPARE)  # type: ignore[arg-type]
        found = await house.what_ifs.of_conversation(conversation_id)
        assert [turn.obstacle for turn in found.turns] == obstacles
        assert compared(backend) == (3 if None in obstacles else len(replies))
        assert found.blocks.turns == 3


async def test_what_is_compared_in_time_is_shown(
    sqlite_factory: SqliteFactory, backend: ScriptedBackend, backend_url: str, clock: MovingClock
) -> None:
    """The server never answers the second comparison, and the page does not wait for it."""
    settings = settings_for(sqlite_factory.migrated(), backend_url, backends=(inspecting(backend_url),))
    async with open_house(settings, clock=clock, rhythm=QUICK) as house:
        conversation_id = await talk(house, await add_user(house.database), clock)
        backends = Backends(settings.resolved_backends())
        secret = await instance_secret(house.database)
        what_ifs = WhatIfs(house.database, house.reports, backends, clock, secret, patience=1.5)
        sides = {side: {"input_tokens": 9, "at_divergence": None} for side in "ab"}
        reply = Reply(200, json.dumps({**sides, "common_tokens": 4}).encode(), {"content-type": "application/json"})
        backend.script(reply, path=COMPARE)
        gate = Gate()
        backend.script(gate, path=COMPARE)
        found = await what_ifs.of_conversation(conversation_id)
        gate.open()
        await backends.close()
    assert [turn.obstacle for turn in found.turns] == [None, Obstacle.TIME_UP, Obstacle.TIME_UP]
    assert found.turns[0].clock == Read(9, 0, 0)
    assert (found.clock.turns, found.real_compared.turns, found.real.turns) == (1, 1, 3)


async def test_a_server_without_inspection_and_one_of_other_settings_are_not_asked(
    sqlite_factory: SqliteFactory, backend: ScriptedBackend, backend_url: str, clock: MovingClock
) -> None:
    url = sqlite_factory.migrated()
    async with open_house(settings_for(url, backend_url), clock=clock, rhythm=QUICK) as house:
        conversation_id = await talk(house, await add_user(house.database), clock, turns=1)
        found = await house.what_ifs.of_conversation(conversation_id)
        assert found.obstacles == {Obstacle.NO_INSPECTION: 1}
        async with house.database.write() as session:
            await session.execute(update(Turn).values(backend="gone"))
        found = await house.what_ifs.of_conversation(conversation_id)
        assert found.obstacles == {Obstacle.OTHER_BACKEND: 1}
    assert compared(backend) == 0
