from uuid import UUID

import pytest

from app.house import House, open_house
from app.turns.workers import Process
from tests.app.houses import QUICK, add_user, last_answer, question, settings_for, until_kind
from tests.app.redis_server import NO_REDIS
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio


async def test_all_answers_of_one_owner_stop_and_those_of_others_go_on(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    berta = await add_user(house.database, "Berta")
    gate = Gate()
    sent = []
    for owner in (anna, anna, berta):
        backend.script(message_start(), delta("Part"), gate, *answer(" rest")[1:])
        turn = await house.turns.send(owner, question())
        await until_kind(await house.turns.events(owner, turn.turn_id, 0), "delta")
        sent.append(turn)
    await house.turns.stop_all_of(anna)
    for turn in sent[:2]:
        stopped = await last_answer(house, anna, turn.conversation_id)
        assert stopped.turn is not None
        assert (stopped.text, stopped.turn.status) == ("Part", "stopped")
    gate.open()
    await until_kind(await house.turns.events(berta, sent[2].turn_id, 0), "end")
    assert (await last_answer(house, berta, sent[2].conversation_id)).text == "Part rest"
    await house.turns.stop_all_of(anna)


async def test_answers_of_another_process_stop_by_their_flags(
    backend: ScriptedBackend, database_url: str, backend_url: str
) -> None:
    backend.script(message_start(), delta("Part"), Gate(), *answer("never"))
    settings = settings_for(database_url, backend_url, redis_url=NO_REDIS)
    async with (
        open_house(settings, rhythm=QUICK) as house,
        open_house(settings, rhythm=QUICK, process=Process("elsewhere", 1)) as other,
    ):
        anna = await add_user(house.database)
        sent = await house.turns.send(anna, question())
        events = await house.turns.events(anna, sent.turn_id, 0)
        await backend.until(lambda: backend.open_streams == 1)
        await other.turns.stop_all_of(anna)
        end = await until_kind(events, "end")
    assert end.data["status"] == "stopped"
