"""Two processes with one database: a form that reaches both is one turn, and a conversation has one live turn.

With the Redis that they share, and while it is away.
"""

from collections.abc import AsyncIterator
from uuid import UUID

import anyio
import pytest
from sqlalchemy import select

from app.errors import Conflict
from app.house import House, open_house
from app.models import Conversation, Message, Submission, Turn
from app.turns import SendRequest, SentTurn
from app.turns.workers import Process
from tests.app.houses import QUICK, add_user, ask, follow, question, settings_for
from tests.app.redis_server import NO_REDIS, RedisServer
from tests.scripted_backend import Gate, ScriptedBackend, answer

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["with redis", "redis is away"])
async def workers(
    request: pytest.FixtureRequest, shared_redis: RedisServer, database_url: str, backend_url: str
) -> AsyncIterator[tuple[House, House]]:
    redis_url = shared_redis.url if request.param == "with redis" else NO_REDIS
    settings = settings_for(database_url, backend_url, redis_url=redis_url)
    async with (
        open_house(settings, rhythm=QUICK) as house,
        open_house(settings, rhythm=QUICK, process=Process("elsewhere", 1)) as other,
    ):
        yield house, other


@pytest.fixture
async def anna(workers: tuple[House, House]) -> UUID:
    return await add_user(workers[0].database)


async def send_at_once(owner: UUID, *sends: tuple[House, SendRequest]) -> tuple[list[SentTurn], list[Conflict]]:
    """What was accepted, and what was refused."""
    accepted: list[SentTurn] = []
    refused: list[Conflict] = []

    async def send(house: House, request: SendRequest, delay: float) -> None:
        await anyio.sleep(delay)
        try:
            accepted.append(await house.turns.send(owner, request))
        except Conflict as conflict:
            refused.append(conflict)

    async with anyio.create_task_group() as group:
        for place, (house, request) in enumerate(sends):
            group.start_soon(send, house, request, place * 0.005)
    return accepted, refused


async def roles(house: House, owner: UUID, conversation_id: UUID) -> list[str]:
    return [message.role for message in (await house.conversations.view(owner, conversation_id)).messages]


@pytest.mark.parametrize("place", ["first message", "follow-up"])
async def test_one_form_that_reaches_both_workers_is_one_turn(
    workers: tuple[House, House], anna: UUID, backend: ScriptedBackend, place: str
) -> None:
    one, two = workers
    conversation = None if place == "first message" else (await ask(one, anna)).conversation_id
    before = len(backend.questions)
    gate = Gate()
    backend.script(gate, *answer("x"))
    request = question("Once", conversation)
    accepted, refused = await send_at_once(anna, (one, request), (two, request))
    assert (len(set(accepted)), len(accepted), refused) == (1, 2, [])
    gate.open()
    for house in workers:
        await follow(house, anna, accepted[0].turn_id)
    assert await two.turns.send(anna, request) == accepted[0]  # As after a network error.
    assert len(backend.questions) == before + 1
    expected = ["user", "assistant"] * (1 if conversation is None else 2)
    assert await roles(two, anna, accepted[0].conversation_id) == expected


async def test_two_forms_that_reach_two_workers_make_one_live_turn(
    workers: tuple[House, House], anna: UUID, backend: ScriptedBackend
) -> None:
    one, two = workers
    conversation = (await ask(one, anna)).conversation_id
    gate = Gate()
    backend.script(gate, *answer("x"))
    # The same words on purpose: it is the key that tells sends apart.
    sends = [(house, question("Same", conversation)) for house in workers]
    accepted, refused = await send_at_once(anna, *sends)
    assert [conflict.turn_id for conflict in refused] == [accepted[0].turn_id]
    gate.open()
    await follow(one, anna, accepted[0].turn_id)
    await ask(two, anna, "Same", conversation)
    assert await roles(one, anna, conversation) == ["user", "assistant"] * 3
    assert [message["role"] for message in backend.questions[-1].json()["messages"]] == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert len({request.json()["metadata"]["user_id"] for request in backend.questions}) == 1


async def stored(house: House, conversation_id: UUID) -> dict[str, int]:
    """How many rows there are of what a send makes."""
    async with house.database.read() as session:
        return {
            "messages": len(list(await session.scalars(select(Message.id)))),
            "turns": len(list(await session.scalars(select(Turn.id)))),
            "submissions": len(list(await session.scalars(select(Submission.turn_id)))),
            "next_seq": (await session.get_one(Conversation, conversation_id)).next_seq,
        }


async def test_two_tabs_that_ask_again_at_once_get_one_new_answer(
    workers: tuple[House, House], anna: UUID, backend: ScriptedBackend
) -> None:
    one, two = workers
    first = await ask(one, anna, "One")
    second = await ask(two, anna, "Two", first.conversation_id)
    before = await stored(one, first.conversation_id)
    gate = Gate()
    backend.script(gate, *answer("Another"))
    again = {"kind": "regenerate", "message_id": second.assistant_message_id}
    sends = [(house, question("", first.conversation_id, **again)) for house in workers]
    accepted, refused = await send_at_once(anna, *sends)
    assert [conflict.turn_id for conflict in refused] == [accepted[0].turn_id]
    gate.open()
    await follow(two, anna, accepted[0].turn_id)
    assert await stored(two, first.conversation_id) == {name: count + 1 for name, count in before.items()}
    branch = (await two.conversations.view(anna, first.conversation_id)).messages
    assert [message.text for message in branch][2:] == ["Two", "Another"]
    assert branch[-1].branch is not None
    assert (branch[-1].branch.position, branch[-1].branch.count) == (2, 2)
    assert backend.questions[-1].body == backend.questions[-2].body


@pytest.mark.parametrize("kind", ["edit", "regenerate"])
async def test_tab_that_changes_something_while_another_one_streams_is_refused_and_leaves_no_row(
    workers: tuple[House, House], anna: UUID, backend: ScriptedBackend, kind: str
) -> None:
    one, two = workers
    first = await ask(one, anna, "One")
    gate = Gate()
    backend.script(gate, *answer("Two's answer"))
    live = await one.turns.send(anna, question("Two", first.conversation_id))
    before = await stored(two, first.conversation_id)
    target = first.user_message_id if kind == "edit" else first.assistant_message_id
    request = question("One, better", first.conversation_id, kind=kind, message_id=target)
    with pytest.raises(Conflict) as conflict:
        await two.turns.send(anna, request)
    assert conflict.value.turn_id == live.turn_id
    assert await stored(two, first.conversation_id) == before
    gate.open()
    await follow(two, anna, live.turn_id)
    branch = (await two.conversations.view(anna, first.conversation_id)).messages
    assert [message.text for message in branch][2:] == ["Two", "Two's answer"]
    sent = await two.turns.send(anna, request)  # The same form, once there is nothing in its way.
    await follow(one, anna, sent.turn_id)
    assert [message["role"] for message in backend.questions[-1].json()["messages"]] == ["user"]
