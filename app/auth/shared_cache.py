"""One account only where a model server does not keep people's caches apart, unless the settings allow more.

A shared cache tells by its speed what others have asked.
"""

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.database import Database
from app.errors import ConfigurationError, Conflict
from app.models import User


async def enabled_accounts(session: AsyncSession) -> int:
    """Deleted accounts are disabled ones."""
    return await session.scalar(select(func.count()).select_from(User).where(User.disabled_at.is_(None))) or 0


async def check_another_account(session: AsyncSession, *, only_one: bool) -> None:
    """Conflict where there is an account that can be used and the settings allow no other."""
    if only_one and await enabled_accounts(session):
        raise Conflict(
            "The model server does not keep people's caches apart, so there can be one account only;"
            " the setting RECOUNT_ALLOW_SHARED_CACHE allows more."
        )


async def check_accounts(database: Database, *, only_one: bool) -> None:
    """ConfigurationError where there are more accounts than the settings allow."""
    if not only_one:
        return
    async with database.read() as session:
        accounts = await enabled_accounts(session)
    if accounts > 1:
        raise ConfigurationError(
            f"{accounts} enabled accounts would share the cache of a backend whose isolation is none."
            " Set RECOUNT_ALLOW_SHARED_CACHE=true if they may, or disable accounts with `recount user disable NAME`."
        )
