from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import update

from app.house import House
from app.models import ServingEvent, Turn
from app.reports.backends import BackendFigures
from tests.app.houses import START, MovingClock, ask
from tests.scripted_backend import ScriptedBackend, answer, delta, ending, error_reply, message_start

pytestmark = pytest.mark.anyio
USAGE = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


async def test_a_backend_that_nobody_knows(house: House) -> None:
    assert await house.backend_reports.figures("other", START) == BackendFigures(None, None, None, 0, 0)


async def test_only_completed_chat_turns_of_the_last_day_are_counted(
    house: House, anna: UUID, backend: ScriptedBackend, clock: MovingClock
) -> None:
    await ask(house, anna)
    clock.advance(hours=25)
    backend.script(*answer("a", usage=USAGE))
    await ask(house, anna)
    backend.script(message_start(usage={"input_tokens": 8}), delta("a"), *ending(output_tokens=2))
    await ask(house, anna)
    backend.script(error_reply(400, "invalid_request_error"))
    await ask(house, anna)
    figures = await house.backend_reports.figures("scripted", clock())
    assert (figures.completed, figures.reported, figures.last_turn_at) == (2, 1, clock())
    for hidden in ({"purpose": "probe"}, {"purpose": "chat", "imported_at": START}):
        async with house.database.write() as session:
            await session.execute(update(Turn).values(**hidden))
        assert (await house.backend_reports.figures("scripted", clock())).completed == 0
    assert (await house.backend_reports.figures("scripted", clock())).last_turn_at is None


async def test_the_newest_start_is_the_one_that_serves(house: House) -> None:
    async with house.database.write() as session:
        for hours, serving_id in ((0, "first"), (2, "third"), (1, "second")):
            at = START + timedelta(hours=hours)
            session.add(ServingEvent(kind="server_start", backend="scripted", serving_id=serving_id, at=at))
        session.add(ServingEvent(kind="app_start", backend="scripted", at=START + timedelta(hours=3)))
    figures = await house.backend_reports.figures("scripted", START)
    assert (figures.serving_since, figures.serving_id) == (START + timedelta(hours=2), "third")
