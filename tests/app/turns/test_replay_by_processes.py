"""Processes that order their sets in other ways continue a conversation with the same bytes."""

import os
import subprocess
import sys
from itertools import pairwise
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
        conversation.params = '{"top_p": 0.5, "stop_sequences": ["zz", "aa", "mm"], "max_tokens": 9}'
    names = (database_url, backend_url, str(anna), str(sent.conversation_id))
    with start_worker(1, *names, "Second") as second, start_worker(2, *names, "Third") as third:
        for worker in (second, third):
            await anyio.to_thread.run_sync(worker.communicate, "go\n")
            assert worker.returncode == 0
    # What stands before the system prompt was changed in between, and is no part of the prompt.
    bodies = [request.body[request.body.index(b'"system"') :] for request in backend.questions]
    heads = [request.body[: -len(body)] for request, body in zip(backend.questions, bodies, strict=True)]
    assert heads[1] == heads[2]
    for earlier, later in pairwise(bodies):
        messages, ending = earlier.split(b'"}],"metadata"')
        assert later.startswith(messages)
        assert later.endswith(ending)
    assert [message["content"] for message in backend.questions[-1].json()["messages"][:2]][1] == STRUCTURED
    async with house.database.read() as session:
        texts = list(await session.scalars(select(Message.text).order_by(Message.seq).limit(2)))
        params = list(await session.scalars(select(Turn.params).order_by(Turn.id)))
    assert texts == [STRUCTURED, STRUCTURED]
    assert params[1:] == ['{"max_tokens":9,"stop_sequences":["zz","aa","mm"],"top_p":0.5}'] * 2
