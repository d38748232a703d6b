"""A backend that reads for a long time before it writes, and a proxy on the way to it that cuts silent connections."""

from collections.abc import AsyncIterator
from uuid import UUID

import anyio
import pytest

from app.conversations import MessageView
from app.house import House, open_house
from app.turns import TurnEvent
from tests.app.databases import SqliteFactory
from tests.app.houses import QUICK, add_user, follow, last_answer, question, settings_for
from tests.app.idle_proxy import idle_proxy
from tests.scripted_backend import Gate, ScriptedBackend, Step, answer, head, message_start, ping

pytestmark = pytest.mark.anyio

PATIENCE = 0.6
PAUSE = 0.1
PAUSES = 12  # Together twice the patience of the proxy.


@pytest.fixture
async def house(sqlite_factory: SqliteFactory, backend_url: str) -> AsyncIterator[House]:
    """Its backend is behind the proxy."""
    async with idle_proxy(backend_url, PATIENCE) as url:
        settings = settings_for(sqlite_factory.migrated(), url)
        async with open_house(settings, rhythm=QUICK) as house:
            yield house


async def answered(house: House, gates: list[Gate]) -> tuple[MessageView, list[TurnEvent]]:
    """The answer to a question whose script has a pause at each gate."""
    owner: UUID = await add_user(house.database)
    sent = await house.turns.send(owner, question())
    for gate in gates:
        await gate.arrived()
        await anyio.sleep(PAUSE)
        gate.open()
    events = await follow(house, owner, sent.turn_id)
    return await last_answer(house, owner, sent.conversation_id), events


@pytest.mark.parametrize(
    ("beginning", "sign"),
    [([], b": still reading\n\n"), ([message_start()], ping())],
    ids=["comments before message_start", "pings behind it"],
)
async def test_signs_of_life_bring_a_long_prefill_through_a_proxy_and_are_no_first_token(
    house: House, backend: ScriptedBackend, beginning: list[Step], sign: Step
) -> None:
    gates = [Gate() for _ in range(PAUSES)]
    rest = answer("late")[len(beginning) :]
    backend.script(*beginning, *(step for gate in gates for step in (sign, gate)), *rest)
    last, events = await answered(house, gates)
    assert last.turn is not None
    assert (last.text, last.turn.status) == ("late", "completed")
    assert last.turn.time_to_first_token_ms is not None
    assert last.turn.time_to_first_token_ms >= PAUSES * PAUSE * 1000
    assert [event.data["text"] for event in events if event.kind == "delta"] == ["late"]
    assert len(backend.questions) == 1


async def test_silence_is_cut_by_the_proxy_and_the_prefill_is_not_begun_again(
    house: House, backend: ScriptedBackend
) -> None:
    backend.script(head(), message_start(), Gate())
    last, _ = await answered(house, [])
    assert last.turn is not None
    assert (last.turn.status, last.turn.error_type) == ("failed", "connection_lost")
    assert last.turn.time_to_first_token_ms is None
    assert len(backend.questions) == 1
