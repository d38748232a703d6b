import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import anyio
import anyio.to_thread
import pytest
from sqlalchemy import select, update

from app.conversations import BEYOND_LOGS, TurnFigures
from app.database import Database
from app.database.types import new_id
from app.house import House, open_house
from app.models import Conversation, Message, Turn, Worker
from app.turns.rhythm import Rhythm
from app.turns.workers import Process
from tests.app.houses import (
    QUICK,
    START,
    MovingClock,
    add_user,
    ask,
    follow,
    last_answer,
    question,
    settings_for,
    until,
    until_kind,
)
from tests.app.redis_server import NO_REDIS
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
DOOMED = """
import sys
from uuid import UUID
import anyio
from app.house import open_house
from tests.app.houses import QUICK, question, settings_for

async def main(database_url, backend_url, owner):
    async with open_house(settings_for(database_url, backend_url), rhythm=QUICK) as house:
        sent = await house.turns.send(UUID(owner), question("Doomed"))
        print(sent.conversation_id, flush=True)
        await anyio.sleep_forever()

anyio.run(main, *sys.argv[1:])
"""


async def add_live_turn(database: Database, owner: UUID, worker_id: UUID, text: str) -> UUID:
    """A conversation whose answer somebody else is writing."""
    conversation = Conversation(
        id=new_id(),
        owner_id=owner,
        reference=new_id().hex[-8:],
        next_seq=2,
        created_at=START,
        updated_at=START,
    )
    message = Message(
        id=new_id(), conversation_id=conversation.id, seq=1, role="assistant", text=text, created_at=START
    )
    turn = Turn(
        conversation_id=conversation.id,
        purpose="chat",
        kind="question",
        prompt_format=1,
        status="running",
        assistant_message_id=message.id,
        worker_id=worker_id,
        created_at=START,
    )
    async with database.write() as session:
        for row in (conversation, message, turn):
            session.add(row)
            await session.flush()
    return conversation.id


async def add_worker(database: Database, heartbeat_at: datetime, host: str = "elsewhere/1") -> UUID:
    worker = Worker(id=new_id(), host=host, started_at=START, heartbeat_at=heartbeat_at)
    async with database.write() as session:
        session.add(worker)
    return worker.id


def start_python(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)


async def test_turns_of_processes_that_are_gone_from_this_host_end_at_the_start(
    database: Database, database_url: str, backend_url: str
) -> None:
    owner = await add_user(database)
    gone = start_python("pass")
    gone.communicate()
    with start_python("input()") as running:
        process = Process("here", 5)
        hosts = [
            f"here/{gone.pid}",
            "here/5",
            f"here/{running.pid}",
            f"elsewhere/{gone.pid}",
            "here/0",
            "here",
            "here/1",
        ]
        workers = [await add_worker(database, START, host) for host in hosts]
        ids = [await add_live_turn(database, owner, worker, "Part") for worker in workers]
        settings = settings_for(database_url, backend_url, redis_url=NO_REDIS)
        async with open_house(settings, clock=MovingClock(), rhythm=Rhythm(), process=process) as house:
            turns = [await figures(house, owner, conversation_id) for conversation_id in ids]
            async with database.read() as session:
                known = set(await session.scalars(select(Worker.host)))
        running.communicate()
    assert [turn.status for turn in turns] == ["interrupted"] * 2 + ["running"] * 5
    assert turns[0].error_type == "worker_lost"
    assert known == {*hosts[1:]}  # "here/5" is the new worker now.


def test_a_number_that_no_process_can_have_is_no_process() -> None:
    assert not Process("here", 10**30).exists()


async def figures(house: House, owner: UUID, conversation_id: UUID) -> TurnFigures:
    turn = (await last_answer(house, owner, conversation_id)).turn
    assert turn is not None
    return turn


async def test_turns_of_dead_workers_end_and_those_of_live_ones_do_not(
    database: Database, database_url: str, backend_url: str
) -> None:
    owner = await add_user(database)
    dead = await add_worker(database, START - timedelta(seconds=21))
    alive = await add_worker(database, START - timedelta(seconds=19))
    texts = {"of a dead worker": dead, "of an unknown worker": new_id(), "of a live worker": alive}
    ids = [await add_live_turn(database, owner, worker, text) for text, worker in texts.items()]
    settings = settings_for(database_url, backend_url, redis_url=NO_REDIS)
    async with open_house(settings, clock=MovingClock(), rhythm=QUICK) as house:
        turns = [await figures(house, owner, conversation_id) for conversation_id in ids]
        kept = [(await last_answer(house, owner, conversation_id)).text for conversation_id in ids]
    assert [turn.status for turn in turns] == ["interrupted", "interrupted", "running"]
    assert [turn.error_type for turn in turns] == ["worker_lost", "worker_lost", None]
    assert kept == list(texts)
    async with database.read() as session:
        assert list(await session.scalars(select(Worker.id))) == [alive]


@pytest.mark.parametrize("action", ["send", "stop"])
async def test_a_dead_worker_does_not_keep_its_user_waiting(
    database: Database, database_url: str, backend_url: str, action: str
) -> None:
    """The reaper's own turn would come much later here."""
    clock = MovingClock()
    owner = await add_user(database)
    worker = await add_worker(database, START)
    conversation_id = await add_live_turn(database, owner, worker, "Part")
    rare = Rhythm(reap=3600)
    settings = settings_for(database_url, backend_url, redis_url=NO_REDIS)
    async with open_house(settings, clock=clock, rhythm=rare) as house:
        turn = await figures(house, owner, conversation_id)
        assert turn.status == "running"
        clock.advance(seconds=30)
        if action == "send":
            await ask(house, owner, "Next", conversation_id)
        else:
            await house.turns.stop(owner, turn.id)
        rows = (await house.reports.conversation(conversation_id)).turns
    assert rows[0].figures.status == "interrupted"


async def test_a_killed_process_leaves_an_interrupted_turn_with_its_text(
    database: Database, database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    owner = await add_user(database)
    usage = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 19, "output_tokens": 1}
    backend.script(message_start(usage=usage), delta("Saved"), Gate())
    process = start_doomed(database_url, backend_url, owner)
    assert process.stdout is not None
    line = await anyio.to_thread.run_sync(process.stdout.readline)
    conversation_id = UUID(line.strip())
    await until(lambda: saved_texts(database, "Saved"))
    process.kill()
    process.wait()
    process.stdout.close()
    async with open_house(settings_for(database_url, backend_url), rhythm=Rhythm()) as house:
        turn = await figures(house, owner, conversation_id)
        assert (turn.status, turn.error_type) == ("interrupted", "worker_lost")
        assert (turn.prompt_tokens, turn.cached_tokens, turn.output_tokens) == (27, 19, None)
        assert (await last_answer(house, owner, conversation_id)).text == "Saved"
        await ask(house, owner, "Next", conversation_id)
        following = await figures(house, owner, conversation_id)
        assert (following.expected_read_tokens, following.expected_is_minimum) == (27, True)
    contents = [message["content"] for message in backend.questions[-1].json()["messages"]]
    assert contents[1] == "Saved"


def start_doomed(database_url: str, backend_url: str, owner: UUID) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DOOMED, database_url, backend_url, str(owner)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


async def saved_texts(database: Database, text: str) -> list[UUID]:
    async with database.read() as session:
        return list(await session.scalars(select(Message.id).where(Message.text == text)))


async def test_closing_drains_then_interrupts_with_the_text_kept(
    database: Database, database_url: str, backend_url: str, backend: ScriptedBackend
) -> None:
    owner = await add_user(database)
    backend.script(message_start(), delta("Part"), Gate())
    settings = settings_for(database_url, backend_url)
    async with open_house(settings, rhythm=QUICK) as house:
        cut = await house.turns.send(owner, question())
        await until_kind(await house.turns.events(owner, cut.turn_id, 0), "delta")
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate, delta(" two"), *answer("")[2:])
    patient = settings_for(database_url, backend_url, drain_seconds=30)
    async with open_house(patient, rhythm=QUICK) as house:
        drained = await house.turns.send(owner, question())
        await gate.arrived()
        gate.open()
    async with open_house(settings, rhythm=QUICK) as house:
        first = await last_answer(house, owner, cut.conversation_id)
        second = await last_answer(house, owner, drained.conversation_id)
    assert first.turn is not None
    assert second.turn is not None
    assert (first.text, first.turn.status, first.turn.error_type) == ("Part", "interrupted", "shut_down")
    assert (second.text, second.turn.status) == ("Part two", "completed")


async def heartbeats(database: Database) -> list[datetime]:
    async with database.read() as session:
        return list(await session.scalars(select(Worker.heartbeat_at)))


async def test_a_house_that_closes_leaves_no_worker(database: Database, database_url: str, backend_url: str) -> None:
    async with open_house(settings_for(database_url, backend_url), clock=MovingClock()):
        assert await heartbeats(database) == [START]
    assert await heartbeats(database) == []


async def test_text_is_saved_while_it_grows_and_the_heart_beats(
    house: House, anna: UUID, backend: ScriptedBackend, clock: MovingClock
) -> None:
    gates = [Gate(), Gate()]
    backend.script(message_start(), delta("One"), gates[0], delta(" two"), gates[1], *answer("")[2:])
    sent = await house.turns.send(anna, question())
    await until(lambda: saved_texts(house.database, "One"))
    clock.advance(seconds=15)
    gates[0].open()
    await until(lambda: saved_texts(house.database, "One two"))

    async def has_beaten() -> bool:
        return await heartbeats(house.database) == [clock.now]

    await until(has_beaten)
    gates[1].open()
    await follow(house, anna, sent.turn_id)


async def test_usage_is_saved_before_there_is_text(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    gate = Gate()
    usage = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 19}
    backend.script(message_start(usage=usage), gate, *answer("x")[1:])
    sent = await house.turns.send(anna, question())

    async def is_saved() -> bool:
        turn = await figures(house, anna, sent.conversation_id)
        return turn.live and turn.cached_tokens == 19

    await until(is_saved)
    gate.open()
    await follow(house, anna, sent.turn_id)


async def test_a_worker_that_was_taken_for_dead_comes_back(house: House, anna: UUID) -> None:
    async with house.database.write() as session:
        await session.delete((await session.scalars(select(Worker))).one())
    await until(lambda: heartbeats(house.database))
    await ask(house, anna)


async def test_a_row_of_this_worker_without_a_job_is_ended(house: House, anna: UUID) -> None:
    async with house.database.read() as session:
        worker_id = await session.scalar(select(Worker.id))
    assert worker_id is not None
    conversation_id = await add_live_turn(house.database, anna, worker_id, "Part")

    async def has_ended() -> bool:
        return not (await figures(house, anna, conversation_id)).live

    await until(has_ended)
    assert (await figures(house, anna, conversation_id)).error_type == "worker_lost"


async def test_a_turn_elsewhere_is_followed_by_its_stored_text(house: House, anna: UUID) -> None:
    worker = await add_worker(house.database, START)
    conversation_id = await add_live_turn(house.database, anna, worker, "One")
    turn = await figures(house, anna, conversation_id)
    events = await house.turns.events(anna, turn.id, 7)
    first = await anext(events)
    assert (first.kind, dict(first.data)) == ("reset", {"text": "One", "cursor": first.seq})
    assert first.seq > BEYOND_LOGS  # No log may take it for a number of its own.
    async with house.database.write() as session:
        await session.execute(update(Message).values(text="One two"))
    second = await anext(events)
    assert (second.seq, second.data["text"]) == (first.seq + 1, "One two")
    async with house.database.write() as session:
        await session.execute(update(Turn).values(status="completed", stop_reason="end_turn"))
    rest = [event async for event in events]
    assert [(event.kind, event.seq) for event in rest] == [("end", first.seq + 2)]
    assert rest[0].data["stop_reason"] == "end_turn"


async def test_an_ended_turn_without_a_log_is_told_from_its_rows(
    database: Database, database_url: str, backend_url: str
) -> None:
    settings = settings_for(database_url, backend_url)
    owner = await add_user(database)
    async with open_house(settings, rhythm=QUICK) as house:
        sent = await ask(house, owner)
    async with open_house(settings, rhythm=QUICK) as house:
        events = await follow(house, owner, sent.turn_id, 3)
        text = (await last_answer(house, owner, sent.conversation_id)).text
    assert [event.kind for event in events] == ["reset", "end"]
    assert events[0].data["text"] == text


async def test_a_database_that_is_away_for_a_moment_loses_no_answer(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    """A renamed table stands for the database that is away, for the checkpointer and for the end."""
    gate = Gate()
    backend.script(message_start(), delta("Whole"), gate, *answer("")[2:])
    sent = await house.turns.send(anna, question())
    await until_kind(await house.turns.events(anna, sent.turn_id, 0), "delta")
    await rename(house.database, "messages", "hidden")
    gate.open()
    await anyio.sleep(0.15)
    await rename(house.database, "hidden", "messages")
    await follow(house, anna, sent.turn_id)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.text, last.turn.status) == ("Whole", "completed")


async def test_a_database_that_takes_nothing_for_a_while_gets_the_true_end(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    """As on a full disk: more tries fail than there are different pauses."""
    gate = Gate()
    backend.script(message_start(), delta("Whole"), gate, *answer(" answer", output_tokens=2)[1:])
    sent = await house.turns.send(anna, question())
    await until_kind(await house.turns.events(anna, sent.turn_id, 0), "delta")
    await rename(house.database, "messages", "hidden")
    gate.open()
    await anyio.sleep(0.5)
    async with house.database.read() as session:
        assert await session.scalar(select(Turn.status)) == "running"
    await rename(house.database, "hidden", "messages")
    await follow(house, anna, sent.turn_id)
    last = await last_answer(house, anna, sent.conversation_id)
    assert last.turn is not None
    assert (last.turn.status, last.turn.error_type, last.turn.output_tokens) == ("completed", None, 2)
    assert last.text == "Whole answer"


async def rename(database: Database, old: str, new: str) -> None:
    async with database.write() as session:
        connection = await session.connection()
        if connection.dialect.name == "sqlite":
            await connection.exec_driver_sql("PRAGMA legacy_alter_table=ON")
        await connection.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {new}")
