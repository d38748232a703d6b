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
from tests.app.idle_proxy import IdleProxy, idle_proxy
from tests.scripted_backend import Gate, ScriptedBackend, Step, answer, head, message_start, ping

pytestmark = pytest.mark.anyio

PATIENCE = 60
PAUSE = 0.02
PAUSES = 6  # For the proxy each lasts 20 seconds, and all of them twice its patience.


@pytest.fixture
async def proxy(backend_url: str) -> AsyncIterator[IdleProxy]:
    async with idle_proxy(backend_url, PATIENCE) as proxy:
        yield proxy


@pytest.fixture
async def house(sqlite_factory: SqliteFactory, proxy: IdleProxy) -> AsyncIterator[House]:
    """Its backend is behind the proxy."""
    async with open_house(settings_for(sqlite_factory.migrated(), proxy.url), rhythm=QUICK) as house:
        yield house


async def answered(
    house: House, proxy: IdleProxy, gates: list[Gate], seconds: float
) -> tuple[MessageView, list[TurnEvent]]:
    """The answer to a question whose script has a pause at each gate, so many seconds long for the proxy."""
    owner: UUID = await add_user(house.database)
    sent = await house.turns.send(owner, question())
    for gate in gates:
        await gate.arrived()
        await anyio.sleep(PAUSE)
        proxy.pass_time(seconds)
        gate.open()
    events = await follow(house, owner, sent.turn_id)
    return await last_answer(house, owner, sent.conversation_id), events


@pytest.mark.parametrize(
    ("beginning", "sign"),
    [([], b": still reading\n\n"), ([message_start()], ping())],
    ids=["comments before message_start", "pings behind it"],
)
async def test_signs_of_life_bring_a_long_prefill_through_a_proxy_and_are_no_first_token(
    house: House, proxy: IdleProxy, backend: ScriptedBackend, beginning: list[Step], sign: Step
) -> None:
    gates = [Gate() for _ in range(PAUSES)]
    rest = answer("late")[len(beginning) :]
    backend.script(*beginning, *(step for gate in gates for step in (sign, gate)), *rest)
    last, events = await answered(house, proxy, gates, PATIENCE / 3)
    assert last.turn is not None
    assert (last.text, last.turn.status) == ("late", "completed")
    assert last.turn.time_to_first_token_ms is not None
    assert last.turn.time_to_first_token_ms >= PAUSES * PAUSE * 1000
    assert [event.data["text"] for event in events if event.kind == "delta"] == ["late"]
    assert len(backend.questions) == 1


async def test_silence_is_cut_by_the_proxy_and_the_prefill_is_not_begun_again(
    house: House, proxy: IdleProxy, backend: ScriptedBackend
) -> None:
    gate = Gate()
    backend.script(head(), message_start(), gate, Gate())
    last, _ = await answered(house, proxy, [gate], PATIENCE)
    assert last.turn is not None
    assert (last.turn.status, last.turn.error_type) == ("failed", "connection_lost")
    assert last.turn.time_to_first_token_ms is None
    assert len(backend.questions) == 1
