"""Who may open the pages of operators. For everybody else they do not exist."""

from starlette.requests import Request

from app.auth import Account
from app.errors import NotFound
from app.web.visit import account_of


def operator_of(request: Request) -> Account:
    """The signed-in operator. Anybody else is told that there is no such page."""
    account = account_of(request)
    if account.role != "operator":
        raise NotFound
    return account
