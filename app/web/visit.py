"""One request as the views see it: who asks, in which language, with which form token."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from app.auth import Account
from app.house import House
from app.web.languages import Language

FRAGMENT_HEADER = "recount-fragment"


@dataclass(frozen=True, slots=True)
class Visit:
    """`token` is the session's when `account` is there; else it only ties the forms to this browser."""

    account: Account | None
    token: str
    form_token: str
    language: Language

    @property
    def time_zone(self) -> str:
        return (self.account and self.account.time_zone) or "UTC"


class SignInNeeded(Exception):
    """The page is for people who have signed in."""


def visit_of(request: Request) -> Visit:
    return cast("Visit", request.state.visit)


def account_of(request: Request) -> Account:
    """The signed-in account; raises SignInNeeded."""
    account = visit_of(request).account
    if account is None:
        raise SignInNeeded
    return account


def house_of(request: Request) -> House:
    return cast("House", request.app.state.house)


def remote_of(request: Request) -> str:
    """The browser's address, as a trusted proxy or the connection tells it; empty where neither does."""
    return request.client.host if request.client else ""


def wants_fragment(request: Request) -> bool:
    """Our own script asks; it puts a piece of HTML into the page instead of following a redirect."""
    return FRAGMENT_HEADER in request.headers
