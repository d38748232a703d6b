"""Rebuilds every stored turn from SQL and compares it with the hash of what was sent. Asks no model server."""

from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app import prompt
from app.conversations.tree import Node
from app.database import Database
from app.errors import NotFound
from app.models import Conversation, Turn
from app.verification.findings import Findings, Problem
from app.verification.rebuilding import Damaged, Rebuilt, rebuild, text_is_gone
from app.verification.stored import StoredConversation, load_stored


class Verification:
    """`secret` names the owners' cache scopes, as in the turns themselves."""

    def __init__(self, database: Database, secret: bytes) -> None:
        self._database = database
        self._secret = secret

    async def conversations(self, named: str | None = None) -> AsyncIterator[Findings]:
        """Of each conversation, oldest first; of the one with this id or reference alone. NotFound."""
        async with self._database.read() as session:
            ids = list(await session.scalars(select(Conversation.id).order_by(Conversation.id)))
            if named is not None:
                ids = [await _find(session, named)]
        for conversation_id in ids:
            async with self._database.read() as session:
                stored = await load_stored(session, conversation_id, self._secret)
            yield _verify(stored)


async def _find(session: AsyncSession, named: str) -> UUID:
    query = select(Conversation.id).where(Conversation.reference == named)
    with suppress(ValueError):  # It is no id, so it is a reference.
        query = select(Conversation.id).where(Conversation.id == UUID(named))
    found = await session.scalar(query)
    if found is None:
        raise NotFound(f"There is no conversation {named}.")
    return found


def _verify(stored: StoredConversation) -> Findings:
    findings = Findings(problems=_changed_messages(stored))
    for number, turn in enumerate(stored.turns, start=1):
        if stored.conversation.deleted_at is not None or text_is_gone(turn):
            findings.deleted += 1
        elif turn.request_sha256 is None:
            findings.unhashed += 1
        elif (difference := _difference(stored, turn)) is None:
            findings.matching += 1
        else:
            findings.mismatching += 1
            findings.problems.append(Problem(stored.conversation.reference, f"turn {number}: {difference}"))
    return findings


def _changed_messages(stored: StoredConversation) -> list[Problem]:
    return [
        Problem(stored.conversation.reference, f"message {node.seq} ({_kind(node)}) is not what was sent")
        for node in stored.nodes.values()
        if _changed(stored, node)
    ]


def _changed(stored: StoredConversation, node: Node) -> bool:
    """An answer that was continued may have been hashed when it was shorter."""
    cuts = {
        turn.prefill_chars for turn in stored.turns if turn.kind == "continue" and turn.assistant_message_id == node.id
    }
    texts = {node.text, *(node.text[:cut] for cut in cuts)}
    hashes = {
        prompt.message_sha256(stored.salt, prompt.PathMessage(node.role, text, node.context_note)) for text in texts
    }
    return node.sent_sha256 is not None and node.sent_sha256 not in hashes


def _difference(stored: StoredConversation, turn: Turn) -> str | None:
    """What is wrong, in words; None where the turn matches.

    Whether the backend was told the cache scope then is stored nowhere, so both requests are built.
    """
    try:
        both = [rebuild(turn, stored.nodes, stored.system_prompts, scope) for scope in (stored.scope, None)]
    except Damaged as damage:
        return str(damage)
    if any(prompt.request_sha256(stored.salt, each.body) == turn.request_sha256 for each in both):
        return None
    return _place(stored, both[0])


def _place(stored: StoredConversation, rebuilt: Rebuilt) -> str:
    for place, node in enumerate(rebuilt.path):
        if _changed(stored, stored.nodes[node.id]):
            first, behind = rebuilt.bytes_of(place)
            return f"message {node.seq} ({_kind(node)}) differs, bytes {first} to {behind} of the request"
    return "no message differs that has a hash, so the system prompt, the model, a parameter or the hash itself does"


def _kind(node: Node) -> str:
    return "question" if node.role == "user" else "answer"
