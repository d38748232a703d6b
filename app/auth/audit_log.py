"""The audit log as operators read it. Whoever calls this has checked that the reader is an operator."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import aliased

from app.auth.audit import LONGEST_REMOTE
from app.clock import Clock
from app.database import Database
from app.models import AuditEntry, User


@dataclass(frozen=True, slots=True)
class AuditRow:
    """`actor` is the name of an account, None for the console and for somebody unknown.

    `subject` is the name of an account, else what was stored: the id of an invite, or a reference.
    """

    id: UUID
    at: datetime
    action: str
    actor: str | None
    subject: str | None
    remote: str | None


class AuditLog:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def conversation_read(self, operator_id: UUID, reference: str, remote: str) -> None:
        """To be written before an operator is shown a text of somebody's conversation."""
        await self._audit("conversation_read", operator_id, reference, remote)

    async def table_exported(self, operator_id: UUID, file: str, remote: str) -> None:
        """`file` is the table's name and format, which say nothing of anybody."""
        await self._audit("table_exported", operator_id, file, remote)

    async def turns_exported(self, reader_id: UUID, reference: str, remote: str) -> None:
        """The figures of one conversation, by an operator or by its owner."""
        await self._audit("turns_exported", reader_id, reference, remote)

    async def _audit(self, action: str, actor_id: UUID, subject: str, remote: str) -> None:
        async with self._database.write() as session:
            entry = AuditEntry(
                at=self._clock(),
                actor_id=actor_id,
                action=action,
                subject=subject,
                remote=remote[:LONGEST_REMOTE] or None,
            )
            session.add(entry)

    async def page(self, limit: int = 100, before: UUID | None = None) -> Sequence[AuditRow]:
        """Newest first; `before` is the last row of the page before."""
        actor = aliased(User)
        query = (
            select(AuditEntry, actor.name)
            .outerjoin(actor, actor.id == AuditEntry.actor_id)
            .order_by(AuditEntry.id.desc())
            .limit(limit)
        )
        if before is not None:
            query = query.where(AuditEntry.id < before)
        async with self._database.read() as session:
            rows = [(entry, name) for entry, name in await session.execute(query)]
            named = select(User.id, User.name).where(User.id.in_(_ids(entry.subject for entry, _ in rows)))
            names = {str(row[0]): row[1] for row in await session.execute(named)}
        return [
            AuditRow(
                entry.id, entry.at, entry.action, name, names.get(entry.subject or "", entry.subject), entry.remote
            )
            for entry, name in rows
        ]


def _ids(subjects: Iterable[str | None]) -> set[UUID]:
    """Those subjects that are ids; a reference is none."""
    found = set()
    for subject in subjects:
        with suppress(ValueError):
            found.add(UUID(subject or ""))
    return found
