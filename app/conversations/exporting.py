"""Taking one's conversations along: a lossless file, the active branch as Markdown, everything as an archive.

Temporary conversations are not exported. Every export writes one entry of the audit log.
"""

import hashlib
import hmac
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import anyio.to_thread
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.conversations.archive import Archive
from app.conversations.export_format import (
    FORMAT,
    VERSION,
    ExportedConversation,
    ExportedMessage,
    ExportedPrompt,
    ExportedTurn,
    ExportFile,
)
from app.conversations.ownership import owned_conversation, system_prompt_of
from app.conversations.params import Params, canonical_json
from app.conversations.tree import Node, active_path, load_nodes
from app.database import Database
from app.errors import NotFound, TooMany
from app.models import AuditEntry, Conversation, Message, SystemPrompt, Turn, User

MOST_PER_MINUTE = 20
CONVERSATION_EXPORTED, ALL_EXPORTED = "conversation_exported", "all_data_exported"


@dataclass(frozen=True, slots=True)
class Branch:
    """What a Markdown export shows: the active branch from root to leaf."""

    reference: str
    title: str
    system_prompt: str
    messages: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file of the archive; `name` has letters, digits, dots and at most one slash."""

    name: str
    content: bytes


class Exports:
    """Every call takes the owner first. TooMany at more than a few exports a minute."""

    def __init__(self, database: Database, clock: Clock, secret: bytes) -> None:
        self._database = database
        self._clock = clock
        self._secret = secret

    async def conversation(self, owner_id: UUID, conversation_id: UUID) -> tuple[str, bytes]:
        """The conversation's reference, and the file. NotFound for temporary ones too."""
        await self._record(owner_id, conversation_id)
        return await self._file(owner_id, conversation_id)

    async def branch(self, owner_id: UUID, conversation_id: UUID) -> Branch:
        await self._record(owner_id, conversation_id)
        async with self._database.read() as session:
            conversation = await _exportable(session, owner_id, conversation_id)
            nodes = await load_nodes(session, conversation_id)
            system_prompt = await system_prompt_of(session, conversation)
        path = tuple(active_path(nodes, conversation.active_leaf_id))
        return Branch(conversation.reference, conversation.title, system_prompt, path)

    async def everything(self, owner_id: UUID) -> AsyncIterator[bytes]:
        """A zip archive in pieces. Conversation after conversation is read, each in a unit of work of its own."""
        await self._record(owner_id, None)
        return self._archive(owner_id)

    async def everything_for_console(self, owner_id: UUID) -> AsyncIterator[ExportedFile]:
        """The files of that archive one by one. No limit counts them, and nobody is named as the actor."""
        async with self._database.write() as session:
            entry = AuditEntry(at=self._clock(), actor_id=None, action="all_data_exported", subject=str(owner_id))
            session.add(entry)
        async for file in self._files(owner_id):
            yield file

    async def _archive(self, owner_id: UUID) -> AsyncIterator[bytes]:
        archive = Archive(self._clock())
        try:
            async with aclosing(self._files(owner_id)) as files:
                async for file in files:
                    yield await anyio.to_thread.run_sync(archive.add, file.name, file.content)
        except BaseException:
            archive.end()
            raise
        yield archive.end()

    async def _files(self, owner_id: UUID) -> AsyncGenerator[ExportedFile, None]:
        async with self._database.read() as session:
            profile = _profile(await session.get_one(User, owner_id))
            ids = await session.scalars(
                select(Conversation.id).where(
                    Conversation.owner_id == owner_id,
                    Conversation.deleted_at.is_(None),
                    Conversation.expires_at.is_(None),
                )
            )
        yield ExportedFile("profile.json", json.dumps(profile, ensure_ascii=False, indent=1).encode())
        for conversation_id in ids.all():
            try:
                reference, content = await self._file(owner_id, conversation_id)
            except NotFound:
                continue  # It was deleted meanwhile.
            yield ExportedFile(f"conversations/{reference}.json", content)

    async def _file(self, owner_id: UUID, conversation_id: UUID) -> tuple[str, bytes]:
        async with self._database.read() as session:
            conversation = await _exportable(session, owner_id, conversation_id)
            file = await _read(session, conversation)
        return conversation.reference, await anyio.to_thread.run_sync(self._sealed, owner_id, file)

    def _sealed(self, owner_id: UUID, file: ExportFile) -> bytes:
        return (
            file.model_copy(update={"seal": seal_of(self._secret, owner_id, file)}).model_dump_json(indent=1).encode()
        )

    async def _record(self, owner_id: UUID, conversation_id: UUID | None) -> None:
        now = self._clock()
        async with self._database.write() as session:
            subject = None
            if conversation_id is not None:
                subject = (await _exportable(session, owner_id, conversation_id)).reference
            recent = select(func.count()).where(
                AuditEntry.actor_id == owner_id,
                AuditEntry.action.in_((CONVERSATION_EXPORTED, ALL_EXPORTED)),
                AuditEntry.at > now - timedelta(minutes=1),
            )
            if (await session.scalar(recent) or 0) >= MOST_PER_MINUTE:
                raise TooMany("Too many exports; wait a minute.", 60)
            action = CONVERSATION_EXPORTED if subject else ALL_EXPORTED
            session.add(AuditEntry(at=now, actor_id=owner_id, action=action, subject=subject))


def seal_of(secret: bytes, owner_id: UUID, file: ExportFile) -> str:
    """Of everything else in the file; only this instance can make it, and for this owner only."""
    content = canonical_json(file.model_dump(mode="json", exclude={"seal"})).encode()
    return hmac.new(secret, b"export seal:" + owner_id.bytes + content, hashlib.sha256).hexdigest()


async def _exportable(session: AsyncSession, owner_id: UUID, conversation_id: UUID) -> Conversation:
    conversation = await owned_conversation(session, owner_id, conversation_id)
    if conversation.expires_at is not None:
        raise NotFound
    return conversation


async def _read(session: AsyncSession, conversation: Conversation) -> ExportFile:
    messages = list(
        await session.scalars(select(Message).where(Message.conversation_id == conversation.id).order_by(Message.seq))
    )
    turns = list(await session.scalars(select(Turn).where(Turn.conversation_id == conversation.id).order_by(Turn.id)))
    used = {turn.system_prompt_id for turn in turns} | {conversation.system_prompt_id}
    prompts = await session.scalars(
        select(SystemPrompt).where(SystemPrompt.id.in_(used - {None})).order_by(SystemPrompt.id)
    )
    parents = {message.id: message.parent_id for message in messages}
    earlier = {turn.id for turn in turns}
    return ExportFile(
        format=FORMAT,
        version=VERSION,
        conversation=_conversation(conversation, parents),
        system_prompts=[ExportedPrompt.model_construct(id=str(prompt.id), text=prompt.text) for prompt in prompts],
        messages=[_message(message, parents) for message in messages],
        turns=[_turn(turn, parents, earlier) for turn in turns],
    )


def _conversation(conversation: Conversation, messages: dict[UUID, UUID | None]) -> ExportedConversation:
    """An active leaf that is gone is none, as everywhere."""
    values = _values(conversation, ExportedConversation)
    leaf = conversation.active_leaf_id
    values["active_leaf_id"] = str(leaf) if leaf in messages else None
    values["salt"] = (conversation.salt or b"").hex()
    values["params"] = Params.parse(conversation.params)
    return ExportedConversation.model_construct(**values)


def _message(message: Message, parents: dict[UUID, UUID | None]) -> ExportedMessage:
    values = _values(message, ExportedMessage)
    child = message.selected_child_id
    values["selected_child_id"] = str(child) if child and parents.get(child) == message.id else None
    return ExportedMessage.model_construct(**values)


def _turn(turn: Turn, messages: dict[UUID, UUID | None], turns: set[UUID]) -> ExportedTurn:
    """A reference to what was deleted is none."""
    values = _values(turn, ExportedTurn)
    values["params"] = json.loads(turn.params)
    if turn.history_start_message_id not in messages:
        values["history_start_message_id"] = None
    if turn.base_turn_id not in turns:
        values["base_turn_id"] = None
    return ExportedTurn.model_construct(**values)


def _values(row: object, model: type[Any]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in model.model_fields}
    return {name: str(value) if isinstance(value, UUID) else value for name, value in values.items()}


def _profile(user: User) -> dict[str, str | bool | None]:
    return {
        "format": "recount-profile",
        "name": user.name,
        "role": user.role,
        "locale": user.locale,
        "time_zone": user.time_zone,
        "default_system_prompt": user.default_system_prompt,
        "context_notes": user.context_notes,
        "created_at": user.created_at.isoformat(),
    }
