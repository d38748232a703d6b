"""An account as the rest of the app sees it."""

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
        role: UserRole = "operator" if user.role == "operator" else "user"
        return cls(user.id, user.name, role, user.locale, user.time_zone)
