"""Every prompt format that was ever released still builds the very bytes that it built then."""

import hashlib

import pytest
from sqlalchemy import select

from app import prompt
from app.conversations.tree import load_nodes
from app.database import Database
from app.models import Conversation, SystemPrompt, Turn
from app.verification import Verification
from app.verification.rebuilding import rebuild
from inference_client import encode_body
from tests.app.verification import golden

pytestmark = pytest.mark.anyio


def test_the_newest_format_has_golden_bodies() -> None:
    files = sorted(path.name for path in golden.FOLDER.iterdir())
    assert files == [f"format_{number}.json" for number in range(1, prompt.PROMPT_FORMAT + 1)]


async def test_rows_of_format_1_give_their_bodies_byte_for_byte(database: Database) -> None:
    golden_1 = golden.load(1)
    async with database.write() as session:
        await golden_1.store(session)
    async with database.read() as session:
        conversation = (await session.scalars(select(Conversation))).one()
        nodes = {node.id: node for node in await load_nodes(session, conversation.id)}
        prompts = {row.id: row.text for row in await session.scalars(select(SystemPrompt))}
        turns = list(await session.scalars(select(Turn)))
    assert len(turns) == len(golden_1.bodies) == 9
    for turn in turns:
        sent = golden_1.bodies[turn.id]
        scope = prompt.user_scope(golden_1.secret, conversation.owner_id) if b'"metadata"' in sent else None
        assert encode_body(rebuild(turn, nodes, prompts, scope).body) == sent
        assert hashlib.sha256((conversation.salt or b"") + sent).hexdigest() == turn.request_sha256
    (findings,) = [each async for each in Verification(database, golden_1.secret).conversations(golden_1.reference)]
    assert (findings.matching, findings.problems) == (9, [])
