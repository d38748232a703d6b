"""What operators see of conversations: references and numbers, never titles or text.

For everybody else these pages do not exist.
"""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.auth import Account
from app.errors import NotFound
from app.web.pages import pages_of
from app.web.visit import account_of, house_of

PAGE_LENGTH = 50


async def operator_conversations(request: Request) -> Response:
    operator_of(request)
    before = _before(request)
    rows = await house_of(request).reports.conversations(limit=PAGE_LENGTH, before=before)
    return pages_of(request).response(
        request,
        "operator/conversations.html",
        rows=rows,
        before=before,
        older=rows[-1].id if len(rows) == PAGE_LENGTH else None,
    )


def operator_of(request: Request) -> Account:
    """The signed-in operator. Anybody else is told that there is no such page."""
    account = account_of(request)
    if account.role != "operator":
        raise NotFound
    return account


def _before(request: Request) -> UUID | None:
    try:
        return UUID(request.query_params.get("before", ""))
    except ValueError:
        return None
