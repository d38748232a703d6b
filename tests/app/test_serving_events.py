"""What a start of the app leaves in the operators' charts."""

from functools import partial

import anyio
import pytest
from sqlalchemy import select

from app.database import Database
from app.models import ServingEvent, StoredSetting
from app.serving_events import record_app_start
from app.settings import Settings
from tests.app.houses import START, settings_for

pytestmark = pytest.mark.anyio


async def start(database: Database, settings: Settings) -> None:
    await record_app_start(database, settings, "host/1", START)


async def events(database: Database) -> list[tuple[str, str | None]]:
    async with database.read() as session:
        found = await session.scalars(select(ServingEvent).order_by(ServingEvent.id))
        return [(event.kind, event.detail) for event in found]


def settings(url: str = "sqlite:///x.db", **changes: object) -> Settings:
    return settings_for(url, "http://one", **changes)


async def test_a_first_start_and_one_with_the_same_settings_change_nothing(database: Database) -> None:
    await start(database, settings())
    await start(database, settings(port=1, host="::1", inference_port=2))
    assert await events(database) == [("app_start", "host/1"), ("app_start", "host/1")]


async def test_a_changed_setting_is_named_once_and_without_its_value(database: Database) -> None:
    await start(database, settings())
    changed = settings(answer_tokens=77, retention_days=3, backends=({"name": "gpu", "base_url": "http://two"},))
    await start(database, changed)
    await start(database, changed)
    (named,) = [event for event in await events(database) if event[0] == "setting_changed"]
    names = "RECOUNT_ANSWER_TOKENS, RECOUNT_RETENTION_DAYS, gpu.base_url, gpu.name"
    assert set(names.split(", ")) <= set((named[1] or "").split(", "))
    assert "scripted.name" in (named[1] or "")
    assert "77" not in (named[1] or "")
    await start(database, settings(answer_tokens=77, backends=changed.backends))
    assert ("setting_changed", "RECOUNT_RETENTION_DAYS") in await events(database)


async def test_no_secret_is_stored(database: Database) -> None:
    secrets = {"api_key": "SECRET-1", "base_url": "http://user:SECRET-2@one/?key=SECRET-3"}
    configured = settings(
        "postgresql://me:SECRET-6@db/x?password=SECRET-7",
        backends=({"name": "gpu", **secrets},),
        setup_code="SECRET-4",
        inference_key="SECRET-5",
        redis_url="redis://:SECRET-8@cache/0",
    )
    await start(database, configured)
    async with database.read() as session:
        stored = (await session.scalars(select(StoredSetting.value))).all()
    assert "SECRET" not in "".join(stored)
    assert "me:***@db" in "".join(stored)


async def test_of_several_that_start_together_one_tells_of_a_change(database: Database) -> None:
    await start(database, settings())
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(partial(start, database, settings(answer_tokens=9)))
    assert [kind for kind, _ in await events(database)].count("setting_changed") == 1
