"""A what-if on the bundled model: nothing lost as sent, and with the clock what the server then really reads."""

from collections.abc import AsyncIterator, Iterator
from itertools import pairwise

import pytest

from app.house import House, open_house
from app.instance_secret import instance_secret
from app.settings import Backend
from app.verification.rebuilding import rebuild
from app.verification.stored import load_stored
from app.what_if.variants import with_clock
from inference_client import InferenceClient
from inference_server.bundled_model import bundled_model
from tests.app.databases import SqliteFactory
from tests.app.houses import QUICK, MovingClock, add_user, ask, settings_for
from tests.inference_server.serving import KEY, Served, serve_model

pytestmark = [pytest.mark.anyio, pytest.mark.model]


@pytest.fixture
def server() -> Iterator[Served]:
    with serve_model(bundled_model(), compute="auto") as served:
        yield served


@pytest.fixture
async def house(sqlite_factory: SqliteFactory, server: Served, clock: MovingClock) -> AsyncIterator[House]:
    backend = Backend(name="bundled", base_url=server.url, api_key=KEY, inspection=True, early_message_start=True)
    settings = settings_for(sqlite_factory.migrated(), server.url, backends=(backend,), answer_tokens=12)
    async with open_house(settings, clock=clock, rhythm=QUICK) as house:
        yield house


async def test_the_clock_loses_what_the_server_then_really_computes_again(
    house: House, server: Served, clock: MovingClock
) -> None:
    owner = await add_user(house.database, time_zone="Asia/Seoul")
    conversation_id = None
    for text in ("What is the capital of France?", "And of Japan?", "And of Korea?"):
        clock.advance(minutes=2)
        sent = await ask(house, owner, text, conversation_id, system_prompt="Answer in one short sentence.")
        conversation_id = sent.conversation_id
    assert conversation_id is not None
    found = await house.what_ifs.of_owner(owner, conversation_id)
    assert (found.real.turns, found.clock.turns, found.obstacles) == (3, 3, {})
    assert [turn.real.lost for turn in found.turns if turn.real] == [0, 0, 0]
    assert [turn.clock.lost > 0 for turn in found.turns if turn.clock] == [False, True, True]
    assert found.clock.computed > found.real.computed

    async with house.database.read() as session:
        stored = await load_stored(session, conversation_id, await instance_secret(house.database))
    rebuilt = [rebuild(turn, stored.nodes, stored.system_prompts, stored.scope) for turn in stored.turns]
    bodies = [{**with_clock(each).body, "max_tokens": 1, "stream": False} for each in rebuilt]
    async with InferenceClient(server.url, api_key=KEY) as client:
        for (before, body), (_, turn) in zip(pairwise(bodies), pairwise(found.turns), strict=True):
            await client.create(before)
            usage = (await client.create(body)).usage
            assert turn.clock is not None
            assert usage.cache_read_input_tokens == turn.clock.cached
            assert (usage.input_tokens or 0) + (usage.cache_read_input_tokens or 0) == turn.clock.prompt
