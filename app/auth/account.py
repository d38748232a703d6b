"""An account as the rest of the app sees it, and the values that a new one is made of."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from app.models import User

UserRole = Literal["user", "operator"]


@dataclass(frozen=True, slots=True)
class Account:
    id: UUID
    name: str
    role: UserRole
    locale: str | None
    time_zone: str | None

    @classmethod
    def of(cls, user: User) -> "Account":
        return cls(user.id, user.name, role_of(user.role), user.locale, user.time_zone)


@dataclass(frozen=True, slots=True)
class NewAccount:
    """As it was typed; nothing is checked yet."""

    name: str
    password: str
    locale: str | None = None
    time_zone: str | None = None


def role_of(stored: str) -> UserRole:
    return "operator" if stored == "operator" else "user"
