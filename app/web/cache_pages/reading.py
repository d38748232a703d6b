"""Who may read texts on these pages: the owner always, an operator where the settings say so, and never unseen."""

from uuid import UUID

from starlette.requests import Request

from app.auth import Account
from app.web.visit import house_of, remote_of


async def audited_reading(request: Request, operator: Account, subject: str) -> bool:
    """Whether this operator may read texts. Where that is so, the audit log has a line before anything is shown."""
    house = house_of(request)
    if house.settings.operators_read_text:
        await house.audit_log.conversation_read(operator.id, subject, remote_of(request))
    return house.settings.operators_read_text


async def audited_title(request: Request, operator: Account, conversation_id: UUID, reference: str) -> str | None:
    """None for an operator who may not read it."""
    if not await audited_reading(request, operator, reference):
        return None
    return await house_of(request).reports.title(conversation_id)
