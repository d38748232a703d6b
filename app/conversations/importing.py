"""An exported conversation becomes a new one: new ids, the importer as its owner, everything else as it was."""

import codecs
import hmac
from datetime import datetime
from typing import Any
from uuid import UUID

import anyio.to_thread
from pydantic import ValidationError
from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import Clock
from app.conversations.conversations import LONGEST_TITLE
from app.conversations.export_format import ExportFile
from app.conversations.exporting import seal_of
from app.conversations.import_checks import check_hashes, check_references
from app.conversations.import_words import unfit
from app.conversations.params import canonical_json
from app.conversations.references import new_reference
from app.database import Database
from app.database.types import new_id
from app.models import LIVE_STATES, AuditEntry, Conversation, Message, SystemPrompt, Turn
from app.text import first_words

IMPORTED = "conversation_imported"
_MESSAGE_REFERENCES = ("id", "parent_id", "selected_child_id")
_TURN_REFERENCES = (
    "id",
    "user_message_id",
    "assistant_message_id",
    "base_turn_id",
    "system_prompt_id",
    "history_start_message_id",
)


class Imports:
    def __init__(self, database: Database, clock: Clock, secret: bytes) -> None:
        self._database = database
        self._clock = clock
        self._secret = secret

    async def conversation(self, owner_id: UUID, content: bytes) -> UUID:
        """The new conversation's id. UnfitFile names the place in the file that does not fit; then nothing is stored.

        Message hashes come along with the salt that they were made with. The hash of a whole request covers a secret
        of the instance and of its owner, so it is kept only where the file comes back unchanged to the same ones.
        """
        file, unchanged = await anyio.to_thread.run_sync(self._checked, owner_id, content)
        rows = _Rows(file, owner_id, self._clock(), keeps_requests=unchanged)
        async with self._database.write() as session:
            await rows.store(session)
        return rows.conversation_id

    def _checked(self, owner_id: UUID, content: bytes) -> tuple[ExportFile, bool]:
        file = _parse(content)
        check_references(file)
        unchanged = hmac.compare_digest(file.seal or "", seal_of(self._secret, owner_id, file))
        if not unchanged:
            check_hashes(file)
        return file, unchanged


def _parse(content: bytes) -> ExportFile:
    """A byte order mark is taken for what it is: editors put one in front."""
    try:
        return ExportFile.model_validate_json(content.removeprefix(codecs.BOM_UTF8))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    raise unfit(".".join(map(str, first["loc"])), first)


class _Rows:
    """The rows of one import. Every id of the file stands for a new one, so none can point out of it."""

    def __init__(self, file: ExportFile, owner_id: UUID, now: datetime, *, keeps_requests: bool) -> None:
        self._file = file
        self._owner_id = owner_id
        self._now = now
        self._keeps_requests = keeps_requests
        self.conversation_id = new_id()
        # New ids are made in the order of the file: the newest turn of an answer stays the newest.
        messages = sorted(file.messages, key=lambda message: message.seq)
        old = (
            [part.id for part in file.system_prompts]
            + [part.id for part in messages]
            + [part.id for part in file.turns]
        )
        self._ids = {id_: new_id() for id_ in old}

    async def store(self, session: AsyncSession) -> None:
        reference = new_reference()
        prompts = [{"id": self._ids[prompt.id], "text": prompt.text} for prompt in self._file.system_prompts]
        await _insert(session, SystemPrompt, prompts)
        await _insert(session, Conversation, [self._conversation(reference)])
        await _insert(session, Message, self._messages())
        await _insert(session, Turn, self._turns())
        session.add(AuditEntry(at=self._now, actor_id=self._owner_id, action=IMPORTED, subject=reference))

    def _conversation(self, reference: str) -> dict[str, Any]:
        file = self._file.conversation
        last = max((message.seq for message in self._file.messages), default=0)
        return {
            "id": self.conversation_id,
            "owner_id": self._owner_id,
            "reference": reference,
            "title": first_words(file.title, LONGEST_TITLE) or reference,
            "system_prompt_id": self._new(file.system_prompt_id),
            "model": file.model,
            "params": file.params.canonical(),
            "active_leaf_id": self._new(file.active_leaf_id),
            "next_seq": max(file.next_seq, last + 1),
            "salt": bytes.fromhex(file.salt),
            "archived_at": file.archived_at,
            "created_at": min(file.created_at, self._now),
            "updated_at": min(file.updated_at, self._now),
            "seen_at": self._now,
        }

    def _messages(self) -> list[dict[str, Any]]:
        """Parents first, as their children need."""
        rows = []
        for message in sorted(self._file.messages, key=lambda message: message.seq):
            values = message.model_dump()
            for name in _MESSAGE_REFERENCES:
                values[name] = self._new(values[name])
            rows.append({**values, "conversation_id": self.conversation_id})
        return rows

    def _turns(self) -> list[dict[str, Any]]:
        return [self._turn(turn.model_dump()) for turn in self._file.turns]

    def _turn(self, values: dict[str, Any]) -> dict[str, Any]:
        for name in _TURN_REFERENCES:
            values[name] = self._new(values[name])
        values["params"] = canonical_json(values["params"])
        if not self._keeps_requests:
            values["request_sha256"] = None
        if values["status"] in LIVE_STATES:
            message = "This answer was still being written when it was exported."
            values |= {"status": "interrupted", "error_type": "exported_live", "error_message": message}
            values["finished_at"] = self._now
        return {**values, "conversation_id": self.conversation_id, "imported_at": self._now}

    def _new(self, old: str | None) -> UUID | None:
        return self._ids[old] if old is not None else None


async def _insert(session: AsyncSession, table: type[Any], rows: list[dict[str, Any]]) -> None:
    if rows:
        await session.execute(insert(table), rows)
