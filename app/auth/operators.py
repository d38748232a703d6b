"""Who may operate, asked in the transaction of what is done, so that no two operators can shut everybody out."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Conflict, NotFound
from app.models import User


async def check_operator(session: AsyncSession, operator_id: UUID) -> None:
    """NotFound for somebody who is no operator, or no more: to them there is nothing here."""
    user = await session.get(User, operator_id)
    if user is None or user.role != "operator" or user.disabled_at is not None:
        raise NotFound


async def locked_operators(session: AsyncSession) -> set[UUID]:
    """The enabled operators. Nobody else takes that from them until this transaction ends."""
    query = select(User.id).where(User.role == "operator", User.disabled_at.is_(None))
    return set(await session.scalars(query.order_by(User.id).with_for_update(key_share=True)))


def check_not_the_last(operators: set[UUID], user_id: UUID) -> None:
    """`operators` as `locked_operators` gives them."""
    if operators == {user_id}:
        raise Conflict("This is the last operator; make another one first.")
