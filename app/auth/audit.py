"""One line of the audit log, written in the transaction of what it tells. docs/audit.md lists the actions."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.models import AuditEntry

LONGEST_REMOTE = 64


def record(
    session: AsyncSession,
    at: datetime,
    actor_id: UUID | None,
    action: str,
    *,
    subject: UUID | None = None,
    remote: str | None = None,
) -> None:
    """`actor_id` is None for the console and for somebody unknown; `remote` is the address of the browser."""
    session.add(
        AuditEntry(
            at=at,
            actor_id=actor_id,
            action=action,
            subject=str(subject) if subject else None,
            remote=remote[:LONGEST_REMOTE] if remote else None,
        )
    )
