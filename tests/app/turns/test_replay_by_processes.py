"""Processes that order their sets in other ways continue a conversation with the same bytes."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import anyio
import anyio.to_thread
import pytest
from sqlalchemy import select

from app.house import House
from app.models import Conversation, Message, Turn
from tests.app.houses import ask
from tests.scripted_backend import ScriptedBackend, answer

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
STRUCTURED = '{"type":"text","text":"x","zz":1,"a":{"k2":2,"k1":1},"list":[3,1,2]}'
WORKER = """
import sys
from uuid import UUID
import anyio
from app.house import open_house
from tests.app.houses import QUICK, ask, settings_for
from tests.app.redis_server import NO_REDIS

async def main(database_url, backend_url, owner, conversation, text):
    async with open_house(settings_for(database_url, backend_url, redis_url=NO_REDIS), rhythm=QUICK) as house:
        await ask(house, UUID(owner), text, UUID(conversation), submission_key=text)

input()
anyio.run(main, *sys.argv[1:])
"""


def start_worker(seed: int, *arguments: str) -> subprocess.Popen[str]:
    """It imports everything at once, and asks when it is told to."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-c", WORKER, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, text=True)


async def test_structured_text_and_parameters_keep_their_order_in_every_process(
    house: House, anna: UUID, backend: ScriptedBackend, database_url: str, backend_url: str
) -> None:
    backend.script(*answer(STRUCTURED))
    sent = await ask(house, anna, STRUCTURED, system_prompt=STRUCTURED)
    async with house.database.write() as session:
        conversation = await session.get_one(Conversation, sent.conversation_id)
        conversation.params = '{"zz": 1, "a": {"k2": 2, "k1": 1}, "list": [3, 1, 2]}'
    names = (database_url, backend_url, str(anna), str(sent.conversation_id))
    with start_worker(1, *names, "Second") as second, start_worker(2, *names, "Third") as third:
        for worker in (second, third):
            await anyio.to_thread.run_sync(worker.communicate, "go\n")
            assert worker.returncode == 0
    first_body, second_body, third_body = (request.body for request in backend.questions)
    for earlier, later in ((first_body, second_body), (second_body, third_body)):
        messages, ending = earlier.split(b'"}],"metadata"')
        assert later.startswith(messages)
        assert later.endswith(ending)
    assert [message["content"] for message in backend.questions[-1].json()["messages"][:2]][1] == STRUCTURED
    async with house.database.read() as session:
        texts = list(await session.scalars(select(Message.text).order_by(Message.seq).limit(2)))
        params = list(await session.scalars(select(Turn.params).order_by(Turn.id)))
    assert texts == [STRUCTURED, STRUCTURED]
    assert params[1:] == ['{"a":{"k1":1,"k2":2},"list":[3,1,2],"max_tokens":1024,"zz":1}'] * 2
