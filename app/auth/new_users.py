"""The row of a new user: what was typed is checked, and its password hashed, before any transaction."""

from datetime import datetime

from sqlalchemy import exists, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.account import NewAccount, UserRole
from app.auth.names import check_name, name_key
from app.auth.passwords import Passwords, check_password
from app.context_note import find_zone
from app.database.types import new_id
from app.errors import InvalidInput
from app.models import User

LONGEST_LOCALE = 16


async def checked_user(new: NewAccount, role: UserRole, passwords: Passwords, now: datetime) -> User:
    """InvalidInput("name" | "password"). A time zone that nobody knows is left out."""
    name = check_name(new.name)
    check_password(new.password, name)
    return User(
        id=new_id(),
        name=name,
        name_key=name_key(name),
        password_hash=await passwords.hash(new.password),
        role=role,
        locale=(new.locale or "")[:LONGEST_LOCALE] or None,
        time_zone=new.time_zone if find_zone(new.time_zone) else None,
        created_at=now,
    )


async def add_user(session: AsyncSession, user: User) -> None:
    """InvalidInput("name") where the name, in any case, is taken; the transaction is of no more use then."""
    taken = InvalidInput("name", "This name is taken.")
    if await session.scalar(select(exists().where(User.name_key == user.name_key))):
        raise taken
    session.add(user)
    try:
        await session.flush()
    except IntegrityError:
        raise taken from None
