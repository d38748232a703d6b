"""The secret of this installation, kept in its database: it names the owners' cache scopes."""

import secrets
from contextlib import suppress

from sqlalchemy.exc import IntegrityError

from app.database import Database
from app.models import StoredSetting

_STORED_UNDER = "instance_secret"


async def instance_secret(database: Database) -> bytes:
    """Made once per database, so that every process gives an owner the same cache scope."""
    with suppress(IntegrityError):
        async with database.write() as session:
            if await session.get(StoredSetting, _STORED_UNDER) is None:
                session.add(StoredSetting(key=_STORED_UNDER, value=secrets.token_hex(32)))
    async with database.read() as session:
        stored = await session.get_one(StoredSetting, _STORED_UNDER)
        return bytes.fromhex(stored.value)
