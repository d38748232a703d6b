from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from sqlalchemy import update

from app.house import House, open_house
from app.models import Turn
from app.turns import TurnEvent
from app.turns.workers import Process
from tests.app.houses import QUICK, add_user, ask, follow, last_answer, question, settings_for, until_kind
from tests.app.redis_server import NO_REDIS
from tests.scripted_backend import Gate, ScriptedBackend, Step, answer, delta, head, message_start, ping

pytestmark = pytest.mark.anyio

USAGE = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 19}


async def phases(events: AsyncIterator[TurnEvent]) -> list[dict[str, object]]:
    return [dict(event.data) async for event in events if event.kind == "status"]


@pytest.mark.parametrize(
    ("script", "text", "cached"),
    [
        ([], "", None),
        ([head(), ping(queue=2)], "", None),
        ([message_start(usage=USAGE), ping(prefill=(27, 19, 4))], "", 19),
        ([message_start(usage=USAGE), delta("Part"), delta(" of it ")], "Part of it ", 19),
    ],
    ids=["connecting", "queue", "prefill", "decode"],
)
async def test_stop_ends_a_turn_wherever_it_is(
    house: House, anna: UUID, backend: ScriptedBackend, script: list[Step], text: str, cached: int | None
) -> None:
    gate = Gate()
    backend.script(*script, gate, *answer("never"))
    sent = await house.turns.send(anna, question())
    await gate.arrived()
    events = await house.turns.events(anna, sent.turn_id, 0)
    seen = ""
    while seen != text:
        seen += str((await until_kind(events, "delta")).data["text"])
    await house.turns.stop(anna, sent.turn_id)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.text, last.turn.status, last.turn.cached_tokens) == (text, "stopped", cached)
    assert (last.turn.output_tokens, last.turn.error_type) == (None, None)
    await backend.until(lambda: backend.disconnects == 1)
    assert (await follow(house, anna, sent.turn_id))[-1].data["status"] == "stopped"


async def test_stop_can_be_repeated_and_changes_no_ended_turn(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    await house.turns.stop(anna, sent.turn_id)
    await house.turns.stop(anna, sent.turn_id)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert last.turn.status == "completed"


async def test_stopped_text_is_sent_as_stored_and_gives_a_minimum(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(message_start(usage=USAGE), delta("Part "), gate, *answer("never"))
    sent = await house.turns.send(anna, question())
    await until_kind(await house.turns.events(anna, sent.turn_id, 0), "delta")
    await house.turns.stop(anna, sent.turn_id)
    await ask(house, anna, "Two", sent.conversation_id)
    assert backend.questions[-1].json()["messages"][1]["content"] == "Part "
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.turn.expected_read_tokens, last.turn.expected_is_minimum) == (27, True)


async def test_disconnecting_does_not_stop_a_turn(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate, delta(" two"), *answer("")[2:])
    sent = await house.turns.send(anna, question())
    events = await house.turns.events(anna, sent.turn_id, 0)
    await until_kind(events, "delta")
    await events.aclose()  # type: ignore[attr-defined]
    gate.open()
    await follow(house, anna, sent.turn_id)
    assert (await last_answer(house, anna, sent.conversation_id)).text == "Part two"


async def test_stop_from_another_process_arrives_by_its_flag_where_redis_is_away(
    house: House, anna: UUID, backend: ScriptedBackend, database_url: str, backend_url: str
) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate, *answer("never"))
    sent = await house.turns.send(anna, question())
    events = await house.turns.events(anna, sent.turn_id, 0)
    await until_kind(events, "delta")
    settings = settings_for(database_url, backend_url, redis_url=NO_REDIS)
    elsewhere = Process("elsewhere", 1)
    async with open_house(settings, clock=house.clock, rhythm=QUICK, process=elsewhere) as other:
        await other.turns.stop(anna, sent.turn_id)
        end = await until_kind(events, "end")
    assert end.data["status"] == "stopped"
    assert (await last_answer(house, anna, sent.conversation_id)).text == "Part"


async def test_a_turn_that_was_ended_elsewhere_is_not_written_again(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate, *answer("never"))
    sent = await house.turns.send(anna, question())
    await gate.arrived()
    async with house.database.write() as session:
        await session.execute(update(Turn).where(Turn.id == sent.turn_id).values(status="interrupted"))
    await backend.until(lambda: backend.disconnects == 1)
    await follow(house, anna, sent.turn_id)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.turn.status, last.turn.duration_ms) == ("interrupted", None)


async def test_progress_of_the_backend_is_published(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    backend.script(ping(queue=2), ping(), ping(prefill=(27, 19, 4)), *answer("a"), ping(prefill=(27, 19, 8)))
    sent = await house.turns.send(anna, question())
    assert await phases(await house.turns.events(anna, sent.turn_id, 0)) == [
        {"phase": "queued"},
        {"phase": "queued", "place": 2},
        {"phase": "reading", "total": 27, "cached": 19, "processed": 4},
        {"phase": "reading"},
        {"phase": "writing"},
    ]


async def test_a_backend_without_early_start_is_reading_from_the_request_on(
    database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    plain = {"name": "plain", "base_url": backend_url}
    settings = settings_for(database_url, backend_url, backends=(plain,))
    async with open_house(settings, rhythm=QUICK) as house:
        owner = await add_user(house.database)
        sent = await house.turns.send(owner, question())
        shown = await phases(await house.turns.events(owner, sent.turn_id, 0))
    assert [status["phase"] for status in shown] == ["queued", "reading", "writing"]
