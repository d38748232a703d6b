"""Keeping the sums of ended days true: whoever changes a turn of the past forgets those of its day.

Who sums a day and who changes its turns come one after the other, so that no sum is stored that misses a change.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import delete, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import SummedDay


async def one_after_the_other(session: AsyncSession) -> None:
    """Until the end of the transaction. Nobody who reads sums waits for it."""
    # On SQLite every transaction that writes does so anyway.
    if session.get_bind().dialect.name == "postgresql":
        await session.execute(text("LOCK TABLE summed_days IN SHARE ROW EXCLUSIVE MODE"))


async def forget_days_of(session: AsyncSession, accepted: Iterable[datetime]) -> None:
    """To be called in the transaction that changes or deletes turns that were accepted then, and after it did."""
    days = {at.astimezone(UTC).date() for at in accepted}
    if days:
        await one_after_the_other(session)
        await session.execute(delete(SummedDay).where(SummedDay.day.in_(days)))
