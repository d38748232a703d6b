"""Marks in the operators' charts: every start of a process, and settings that are not what they were before it."""

import json
from contextlib import suppress
from datetime import datetime
from typing import Final

from sqlalchemy.exc import IntegrityError

from app.database import Database
from app.models import ServingEvent, StoredSetting
from app.settings import Settings
from app.shown_settings import kept_values

SERVER_START: Final = "server_start"
STORED_UNDER = "known_settings"


async def record_app_start(database: Database, settings: Settings, process: object, now: datetime) -> None:
    """`process` is written as its host and number. Of several that start with the same change one tells it."""
    values = kept_values(settings)
    with suppress(IntegrityError):  # Another one has stored the first settings just now.
        async with database.write() as session:
            stored = await session.get(StoredSetting, STORED_UNDER, with_for_update=True)
            if stored is None:
                session.add(StoredSetting(key=STORED_UNDER, value=_canonical(values)))
            elif changed := _changed(json.loads(stored.value), values):
                stored.value = _canonical(values)
                session.add(ServingEvent(kind="setting_changed", detail=", ".join(changed), at=now))
    async with database.write() as session:
        session.add(ServingEvent(kind="app_start", detail=str(process), at=now))


def _canonical(values: dict[str, str]) -> str:
    return json.dumps(values, sort_keys=True, ensure_ascii=False)


def _changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """The names of settings with another value, of new ones and of those that are gone."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
