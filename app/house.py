"""The wiring: every service of the app in one frozen object, built from the settings."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio.to_thread
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from app.auth import Accounts, Sessions, Setup
from app.auth.passwords import Passwords
from app.auth.sign_in_limits import SignInLimits
from app.clock import Clock, utc_now
from app.conversations import Conversations
from app.conversations.choices import Choices
from app.conversations.exporting import Exports
from app.conversations.importing import Imports
from app.conversations.lifecycle import Lifecycle
from app.conversations.search import Search
from app.conversations.temporary import Temporary
from app.database import Database, check_revision
from app.database.types import new_id
from app.models import StoredSetting
from app.reports import Reports
from app.settings import Settings
from app.turns import Turns, workers
from app.turns.backends import Backends
from app.turns.bus import MemoryBus
from app.turns.checkpointer import Checkpointer
from app.turns.endings import SHUT_DOWN
from app.turns.job import Workshop
from app.turns.jobs import Jobs
from app.turns.offered_models import OfferedModels
from app.turns.rhythm import Rhythm
from app.turns.sending import SendLimits
from app.turns.turns import LiveLogs
from app.turns.workers import Process

_STORED_UNDER = "instance_secret"


@dataclass(frozen=True)
class House:
    settings: Settings
    database: Database
    clock: Clock
    rhythm: Rhythm
    accounts: Accounts
    sessions: Sessions
    setup: Setup
    conversations: Conversations
    lifecycle: Lifecycle
    temporary: Temporary
    search: Search
    choices: Choices
    offered_models: OfferedModels
    exports: Exports
    imports: Imports
    turns: Turns
    reports: Reports


@asynccontextmanager
async def open_house(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    rhythm: Rhythm | None = None,
    pool_size: int = 5,
    process: Process | None = None,
) -> AsyncIterator[House]:
    """Opens the database and starts what runs beside requests; at the end, live answers drain.

    `process` is this one unless given; a process has one open house at a time.
    ConfigurationError where the database is missing or at another revision.
    """
    url = settings.resolved_database_url()
    rhythm = rhythm or Rhythm()
    await anyio.to_thread.run_sync(check_revision, url)
    database = Database(url, pool_size=pool_size)
    backends = Backends(settings.resolved_backends())
    limits = SignInLimits(settings.redis_url)
    try:
        bus = MemoryBus(keep_seconds=rhythm.keep_log)
        secret = await _instance_secret(database)
        jobs = Jobs(Workshop(database, backends, bus, clock, secret, rhythm))
        worker_id = new_id()
        checkpointer = Checkpointer(
            database, jobs, bus, clock, worker_id=worker_id, process=process or Process.own(), rhythm=rhythm
        )
        turns = Turns(
            database,
            jobs,
            bus,
            clock,
            worker_id=worker_id,
            limits=SendLimits(settings.max_message_characters, settings.live_turns_per_user, settings.answer_tokens),
            rhythm=rhythm,
        )
        house = _house(settings, database, clock, rhythm, turns, LiveLogs(bus, jobs, rhythm), limits, secret, backends)
        await checkpointer.begin()
        beside = asyncio.create_task(checkpointer.run(), name="checkpointer")
        sweeping = asyncio.create_task(house.temporary.run(rhythm.sweep), name="temporary conversations")
        try:
            yield house
        finally:
            house.temporary.stop()
            await sweeping
            await jobs.close(SHUT_DOWN, drain=settings.drain_seconds)
            checkpointer.stop()
            await beside
            # Where the database is away, the heartbeat grows old all the same.
            with suppress(SQLAlchemyError):
                async with database.write() as session:
                    await workers.leave(session, worker_id)
    finally:
        await limits.close()
        await backends.close()
        await database.close()


def _house(
    settings: Settings,
    database: Database,
    clock: Clock,
    rhythm: Rhythm,
    turns: Turns,
    live: LiveLogs,
    limits: SignInLimits,
    secret: bytes,
    backends: Backends,
) -> House:
    passwords = Passwords()
    code = settings.setup_code.get_secret_value() if settings.setup_code else None
    conversations = Conversations(database, clock, live, max_characters=settings.max_message_characters)
    return House(
        settings=settings,
        database=database,
        clock=clock,
        rhythm=rhythm,
        accounts=Accounts(database, clock, passwords, limits),
        sessions=Sessions(
            database,
            clock,
            idle_days=settings.session_idle_days,
            absolute_days=settings.session_absolute_days,
        ),
        setup=Setup(database, clock, passwords, code),
        conversations=conversations,
        lifecycle=Lifecycle(database, clock),
        temporary=Temporary(database, clock, conversations),
        search=Search(database),
        choices=Choices(database, default_system_prompt=settings.default_system_prompt or ""),
        offered_models=OfferedModels(backends),
        exports=Exports(database, clock, secret),
        imports=Imports(database, clock, secret),
        turns=turns,
        reports=Reports(database),
    )


async def _instance_secret(database: Database) -> bytes:
    """Made once per database, so that every process gives an owner the same cache scope."""
    with suppress(IntegrityError):
        async with database.write() as session:
            if await session.get(StoredSetting, _STORED_UNDER) is None:
                session.add(StoredSetting(key=_STORED_UNDER, value=secrets.token_hex(32)))
    async with database.read() as session:
        stored = await session.get_one(StoredSetting, _STORED_UNDER)
        return bytes.fromhex(stored.value)
