"""One of two processes is killed in mid-answer: the other one goes on untouched, and ends what the dead one left."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import anyio.to_thread
import pytest

from app.house import open_house
from tests.app.houses import QUICK, add_user, ask, follow, last_answer, question, settings_for, until, until_kind
from tests.app.redis_server import RedisServer
from tests.app.turns.test_workers import saved_texts
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
# Long enough that a busy machine does not take a live process for dead.
REAPING = replace(QUICK, stale_after=2.0, patience=0.2)
DOOMED = """
import sys
from uuid import UUID
import anyio
from app.house import open_house
from tests.app.houses import QUICK, question, settings_for

async def main(database_url, backend_url, redis_url, owner):
    async with open_house(settings_for(database_url, backend_url, redis_url=redis_url), rhythm=QUICK) as house:
        sent = await house.turns.send(UUID(owner), question("Doomed", submission_key="doomed"))
        print(sent.conversation_id, sent.turn_id, flush=True)
        await anyio.sleep_forever()

anyio.run(main, *sys.argv[1:])
"""


def start_doomed(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DOOMED, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


async def test_other_process_goes_on_and_ends_what_a_killed_one_left(
    database_url: str, backend_url: str, backend: ScriptedBackend, shared_redis: RedisServer
) -> None:
    settings = settings_for(database_url, backend_url, redis_url=shared_redis.url)
    async with open_house(settings, rhythm=REAPING) as house:
        owner = await add_user(house.database)
        backend.script(message_start(), delta("Dead man's words"), Gate())
        process = start_doomed(database_url, backend_url, shared_redis.url, str(owner))
        assert process.stdout is not None
        line = await anyio.to_thread.run_sync(process.stdout.readline)
        conversation_id, turn_id = map(UUID, line.split())
        await until(lambda: saved_texts(house.database, "Dead man's words"))
        gate = Gate()
        backend.script(message_start(), delta("Still "), gate, *answer("here", output_tokens=3)[1:])
        live = await house.turns.send(owner, question("Alive"))
        events = await house.turns.events(owner, live.turn_id, 0)
        await until_kind(events, "delta")
        followed = await house.turns.events(owner, turn_id, 0)  # At the process that stays.
        await until_kind(followed, "delta")
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        end = await until_kind(followed, "end")
        assert (end.data["status"], end.data["error_type"]) == ("interrupted", "worker_lost")
        dead = await last_answer(house, owner, conversation_id)
        assert dead.turn is not None
        assert (dead.text, dead.turn.status) == ("Dead man's words", "interrupted")
        running = await last_answer(house, owner, live.conversation_id)
        assert running.turn is not None
        assert (running.text, running.turn.status) == ("Still ", "running")
        await house.turns.stop(owner, turn_id)  # Nothing is left to stop, and that is no error.
        await ask(house, owner, "Next", conversation_id)
        messages = backend.questions[-1].json()["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        assert messages[1]["content"] == "Dead man's words"
        gate.open()
        await follow(house, owner, live.turn_id)
        whole = await last_answer(house, owner, live.conversation_id)
        assert whole.turn is not None
        assert (whole.text, whole.turn.status, whole.turn.output_tokens) == ("Still here", "completed", 3)
