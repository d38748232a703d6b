"""Jobs whose surroundings fail in ways that no backend and no database plays for us."""

import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import anyio
import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from app.conversations.params import Params
from app.database import Database
from app.database.types import new_id
from app.models import Message, SummedDay, Turn
from app.prompt import PathMessage
from app.settings import Backend
from app.turns import turn_rows
from app.turns.answer import Answer
from app.turns.backends import Backends
from app.turns.bus import LogLost, MemoryBus
from app.turns.endings import COMPLETED, ROWS_GONE, SHUT_DOWN, STOPPED, WORKER_LOST
from app.turns.job import Job, Workshop
from app.turns.jobs import Jobs
from app.turns.plan import Plan
from inference_client import ConnectionLost, InferenceClient, MessageStream, Timeouts
from inference_client.server_sent_events import ServerSentEvent
from inference_client.timeouts import Patience
from tests.app.houses import QUICK, START, MovingClock, add_user
from tests.app.turns.test_workers import add_live_turn, add_worker
from tests.scripted_backend import block_start, delta, message_start

pytestmark = pytest.mark.anyio

USAGE = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 19}


class BrokenClient(InferenceClient):
    def stream(self, body: object, headers: object = None) -> AbstractAsyncContextManager[MessageStream]:
        raise ZeroDivisionError


class BreakingClient(InferenceClient):
    """Its streams end with a mistake of ours behind the third event."""

    @asynccontextmanager
    async def stream(self, body: object, headers: object = None) -> AsyncIterator[MessageStream]:
        yield MessageStream(three_events_and_a_mistake(), Patience(Timeouts()), None)


async def three_events_and_a_mistake() -> AsyncGenerator[ServerSentEvent, None]:
    for step in (message_start(usage=USAGE), block_start(), delta("Part")):
        yield ServerSentEvent("message", json.dumps(step.data), complete=True)
    raise ZeroDivisionError


class FailingWhenLeft(InferenceClient):
    """Whoever leaves its stream before the end is told that the connection broke."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9")
        self.reached = anyio.Event()

    @asynccontextmanager
    async def stream(self, body: object, headers: object = None) -> AsyncIterator[MessageStream]:
        self.reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            raise ConnectionLost("broken")
        yield MessageStream(three_events_and_a_mistake(), Patience(Timeouts()), None)


class OneBackend(Backends):
    def __init__(self, client: InferenceClient) -> None:
        super().__init__([Backend(name="fake", base_url="http://127.0.0.1:9", model="m")])
        self.first().client = client


def lost_clock() -> datetime:
    raise OperationalError("the database is away", None, Exception())


@pytest.fixture
async def plan(database: Database) -> Plan:
    owner = await add_user(database)
    conversation_id = await add_live_turn(database, owner, await add_worker(database, START), "")
    async with database.write() as session:
        turn = (await session.scalars(select(Turn))).one()
        turn.status = "queued"
    assert turn.assistant_message_id is not None
    return Plan(
        turn_id=turn.id,
        conversation_id=conversation_id,
        assistant_message_id=turn.assistant_message_id,
        owner_id=owner,
        system_prompt="",
        path=(PathMessage("user", "Hello"),),
        model=None,
        max_tokens=5,
        salt=b"",
        expected_read_tokens=None,
        accepted_at=0.0,
        params=Params(),
    )


async def stored_turn(database: Database) -> Turn:
    async with database.read() as session:
        return (await session.scalars(select(Turn))).one()


async def test_an_error_of_our_own_fails_the_turn(database: Database, plan: Plan) -> None:
    backends = OneBackend(BrokenClient("http://127.0.0.1:9"))
    bus = MemoryBus(keep_seconds=60)
    await Job(plan, Workshop(database, backends, bus, MovingClock(), b"", QUICK)).run()
    turn = await stored_turn(database)
    assert (turn.status, turn.error_type) == ("failed", "internal")
    await backends.close()


async def test_an_error_of_our_own_in_mid_answer_keeps_the_text_and_is_an_event_of_its_own(
    database: Database, plan: Plan
) -> None:
    backends = OneBackend(BreakingClient("http://127.0.0.1:9"))
    bus = MemoryBus(keep_seconds=60)
    await Job(plan, Workshop(database, backends, bus, MovingClock(), b"", QUICK)).run()
    turn = await stored_turn(database)
    assert (turn.status, turn.error_type, turn.input_tokens) == ("failed", "internal", 8)
    async with database.read() as session:
        assert (await session.get_one(Message, plan.assistant_message_id)).text == "Part"
    log = await bus.follow(plan.turn_id, 0)
    assert log is not None
    events = [event async for event in log]
    assert [event.data["text"] for event in events if event.kind == "delta"] == ["Part"]
    assert [event.kind for event in events][-2:] == ["usage", "end"]
    assert events[-1].data["error_type"] == "internal"
    await backends.close()


async def test_what_breaks_while_an_answer_is_cut_is_no_news(
    database: Database, plan: Plan, caplog: pytest.LogCaptureFixture
) -> None:
    """As where the conversation is deleted while it is written."""
    client = FailingWhenLeft()
    backends = OneBackend(client)
    job = Job(plan, Workshop(database, backends, MemoryBus(keep_seconds=60), MovingClock(), b"", QUICK))
    async with anyio.create_task_group() as group:
        group.start_soon(job.run)
        await client.reached.wait()
        job.cut(ROWS_GONE)
    assert (await stored_turn(database)).error_type == "rows_gone"
    assert caplog.records == []
    await backends.close()


async def test_a_cut_before_the_job_begins_stops_it(database: Database, plan: Plan) -> None:
    backends = OneBackend(BrokenClient("http://127.0.0.1:9"))
    job = Job(plan, Workshop(database, backends, MemoryBus(keep_seconds=60), MovingClock(), b"", QUICK))
    job.cut(STOPPED)
    await job.run()
    assert (await stored_turn(database)).status == "stopped"
    await backends.close()


async def test_an_end_is_tried_until_it_is_stored(database: Database, plan: Plan) -> None:
    backends = OneBackend(BrokenClient("http://127.0.0.1:9"))
    bus = MemoryBus(keep_seconds=60)
    tries = itertools.count(1)

    def clock() -> datetime:
        return START if next(tries) > 10 else lost_clock()

    await Job(plan, Workshop(database, backends, bus, clock, b"", replace(QUICK, store_pauses=(0.0,)))).run()
    turn = await stored_turn(database)
    assert (turn.status, turn.error_type) == ("failed", "internal")
    events = await bus.follow(plan.turn_id, 0)
    assert events is not None
    assert [event.kind async for event in events][-1] == "end"
    await backends.close()


async def test_an_end_that_cannot_be_stored_is_given_up_at_the_shutdown(database: Database, plan: Plan) -> None:
    backends = OneBackend(BrokenClient("http://127.0.0.1:9"))
    bus = MemoryBus(keep_seconds=60)
    jobs = Jobs(Workshop(database, backends, bus, lost_clock, b"", replace(QUICK, store_pauses=(3600.0,))))
    jobs.start(plan)
    await jobs.close(SHUT_DOWN, drain=0)
    assert (await stored_turn(database)).status in ("queued", "running")
    assert await bus.snapshot(plan.turn_id) is None
    await backends.close()


@pytest.mark.parametrize("followed", [False, True])
async def test_a_worker_that_was_taken_for_dead_stores_the_true_end_unless_somebody_went_on(
    database: Database, plan: Plan, followed: bool
) -> None:
    answer = Answer(0.0)
    answer.add("The whole text")
    async with database.write() as session:
        await turn_rows.close_turn(session, plan.turn_id, WORKER_LOST, START)
        session.add(SummedDay(day=START.date()))
        if followed:
            session.add(
                Message(
                    conversation_id=plan.conversation_id,
                    parent_id=plan.assistant_message_id,
                    seq=2,
                    role="user",
                    text="Next",
                    created_at=START,
                )
            )
    async with database.write() as session:
        assert not await turn_rows.end_turn(session, plan, answer, ROWS_GONE, START)
        assert await turn_rows.end_turn(session, plan, answer, COMPLETED, START) is not followed
    async with database.write() as session:
        await turn_rows.save_progress(session, plan, answer)
    async with database.read() as session:
        text = (await session.get_one(Message, plan.assistant_message_id)).text
    turn = await stored_turn(database)
    expected = ("interrupted", "worker_lost", "") if followed else ("completed", None, "The whole text")
    assert (turn.status, turn.error_type, text) == expected
    async with database.read() as session:
        # Sums without the true end would stay for ever.
        assert (await session.get(SummedDay, START.date()) is not None) is followed


async def test_a_job_that_breaks_is_forgotten(database: Database, plan: Plan) -> None:
    backends = OneBackend(BrokenClient("http://127.0.0.1:9"))

    def broken_clock() -> datetime:
        raise ZeroDivisionError

    bus = MemoryBus(keep_seconds=60)
    jobs = Jobs(Workshop(database, backends, bus, broken_clock, b"", QUICK))
    jobs.start(plan)
    log = await bus.follow(plan.turn_id, 0)
    assert log is not None
    assert jobs.knows(plan.turn_id)
    await jobs.close(STOPPED, drain=10)
    assert not jobs.knows(plan.turn_id)
    with pytest.raises(LogLost):
        await anext(log)
    assert await bus.snapshot(plan.turn_id) is None
    await jobs.cut(UUID(int=1), STOPPED, wait=1)
    await backends.close()


async def test_a_turn_is_known_before_its_job_is(database: Database) -> None:
    backends = OneBackend(BrokenClient("http://127.0.0.1:9"))
    jobs = Jobs(Workshop(database, backends, MemoryBus(keep_seconds=60), MovingClock(), b"", QUICK))
    turn_id = new_id()
    with jobs.announced(turn_id):
        assert jobs.knows(turn_id)
    assert not jobs.knows(turn_id)
    await backends.close()
