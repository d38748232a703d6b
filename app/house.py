"""The wiring: every service of the app in one frozen object, built from the settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio.to_thread
from sqlalchemy.exc import SQLAlchemyError

from app.auth import Accounts, AuditLog, Invites, People, Profiles, RequestLimits, Sessions, Setup
from app.auth.passwords import Passwords
from app.auth.shared_cache import check_accounts
from app.auth.sign_in_limits import SignInLimits
from app.clock import Clock, utc_now
from app.conversations import Branches, Conversations
from app.conversations.choices import Choices
from app.conversations.exporting import Exports
from app.conversations.importing import Imports
from app.conversations.lifecycle import Lifecycle
from app.conversations.retention import Retention
from app.conversations.search import Search
from app.conversations.sweeping import Sweeping
from app.conversations.temporary import Temporary
from app.database import Database, check_revision
from app.database.types import new_id
from app.doctor import Doctor, Rounds
from app.instance_secret import instance_secret
from app.reports import Overviews, Reports, Usages
from app.reports.backends import BackendReports
from app.reports.day_sums import DaySums
from app.reports.storage import Storages
from app.reports.turn_counters import TurnCounters
from app.reports.turn_counts import keep_counts
from app.serving_events import record_app_start
from app.settings import Settings
from app.turns import Turns, workers
from app.turns.acceptance import SendLimits
from app.turns.backend_watch import BackendWatch
from app.turns.backends import Backends
from app.turns.bus import Bus, MemoryBus, RedisBus
from app.turns.checkpointer import Checkpointer
from app.turns.endings import SHUT_DOWN
from app.turns.fitting import Fitting
from app.turns.inspections import Inspections
from app.turns.job import Workshop
from app.turns.jobs import Jobs
from app.turns.offered_models import OfferedModels
from app.turns.rhythm import Rhythm
from app.turns.server_starts import ServerStarts
from app.turns.serving_alone import serve_alone
from app.turns.turns import LiveLogs
from app.turns.workers import Process
from app.verification.parting_texts import Partings
from app.what_if import WhatIfs


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
    branches: Branches
    lifecycle: Lifecycle
    temporary: Temporary
    retention: Retention
    search: Search
    choices: Choices
    offered_models: OfferedModels
    exports: Exports
    imports: Imports
    turns: Turns
    reports: Reports
    overviews: Overviews
    usages: Usages
    profiles: Profiles
    people: People
    invites: Invites
    audit_log: AuditLog
    request_limits: RequestLimits
    backend_watch: BackendWatch
    inspections: Inspections
    partings: Partings
    turn_counters: TurnCounters
    bus: Bus
    backends: Backends
    rounds: Rounds
    backend_reports: BackendReports
    storages: Storages
    day_sums: DaySums
    what_ifs: WhatIfs


@asynccontextmanager
async def open_house(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    rhythm: Rhythm | None = None,
    passwords: Passwords | None = None,
    pool_size: int = 5,
    process: Process | None = None,
) -> AsyncIterator[House]:
    """Opens the database and starts what runs beside requests; at the end, live answers drain.

    `process` is this one unless given; a process has one open house at a time.
    ConfigurationError where the database is missing or at another revision, where another process
    serves it and there is no Redis between the two, or where more accounts share a cache than the settings allow.
    """
    url = settings.resolved_database_url()
    rhythm = rhythm or Rhythm()
    await anyio.to_thread.run_sync(check_revision, url)
    database = Database(url, pool_size=pool_size)
    backends = Backends(settings.resolved_backends(), rhythm.timeouts)
    limits = SignInLimits(settings.redis_url)
    request_limits = RequestLimits(settings.redis_url, sends_per_minute=settings.sends_per_minute)
    try:
        bus = _bus(settings.redis_url, rhythm)
        secret = await instance_secret(database)
        jobs = Jobs(Workshop(database, backends, bus, clock, secret, rhythm))
        worker_id = new_id()
        process = process or Process.own()
        checkpointer = Checkpointer(
            database, jobs, bus, backends, clock, worker_id=worker_id, process=process, rhythm=rhythm
        )
        turns = Turns(
            database,
            jobs,
            bus,
            clock,
            worker_id=worker_id,
            limits=SendLimits(settings.max_message_characters, settings.live_turns_per_user, settings.answer_tokens),
            rhythm=rhythm,
            fits=Fitting(backends, secret),
        )
        house = _house(
            settings,
            database,
            clock,
            rhythm,
            turns,
            LiveLogs(bus, jobs, backends, rhythm),
            limits,
            request_limits,
            secret,
            backends,
            passwords or Passwords(),
            bus,
        )
        await check_accounts(database, only_one=settings.only_one_account)
        if settings.redis_url is None:
            await serve_alone(database, worker_id, process, clock, rhythm)
        await checkpointer.begin()
        await record_app_start(database, settings, process, clock())
        beside = asyncio.create_task(checkpointer.run(), name="checkpointer")
        sweepings = (
            Sweeping(house.temporary.sweep, rhythm.sweep),
            Sweeping(house.retention.sweep, rhythm.retain),
            Sweeping(house.day_sums.sweep, rhythm.sweep),
        )
        sweeping = [asyncio.create_task(each.run(), name="sweeping") for each in sweepings]
        watching = asyncio.create_task(house.backend_watch.run(), name="backend watch")
        async with bus.serving(jobs.stop):
            try:
                yield house
            finally:
                for each in sweepings:
                    each.stop()
                await asyncio.wait(sweeping)
                await house.rounds.close()
                house.backend_watch.stop()
                await watching
                await jobs.close(SHUT_DOWN, drain=settings.drain_seconds)
                checkpointer.stop()
                await beside
                # Where the database is away, the heartbeat grows old all the same.
                with suppress(SQLAlchemyError):
                    async with database.write() as session:
                        await workers.leave(session, worker_id)
    finally:
        await limits.close()
        await request_limits.close()
        await backends.close()
        await database.close()


def _bus(redis_url: str | None, rhythm: Rhythm) -> Bus:
    if redis_url is None:
        return MemoryBus(keep_seconds=rhythm.keep_log, patience=rhythm.patience)
    return RedisBus(
        redis_url,
        keep_seconds=rhythm.keep_log,
        patience=rhythm.patience,
        timeout=rhythm.redis_timeout,
        pause=rhythm.redis_pause,
    )


def _house(
    settings: Settings,
    database: Database,
    clock: Clock,
    rhythm: Rhythm,
    turns: Turns,
    live: LiveLogs,
    limits: SignInLimits,
    request_limits: RequestLimits,
    secret: bytes,
    backends: Backends,
    passwords: Passwords,
    bus: Bus,
) -> House:
    accounts = Accounts(database, clock, passwords, limits)
    code = settings.setup_code.get_secret_value() if settings.setup_code else None
    conversations = Conversations(database, clock, live, max_characters=settings.max_message_characters)
    return House(
        settings=settings,
        database=database,
        clock=clock,
        rhythm=rhythm,
        accounts=accounts,
        sessions=Sessions(
            database,
            clock,
            idle_days=settings.session_idle_days,
            absolute_days=settings.session_absolute_days,
        ),
        setup=Setup(database, clock, passwords, code),
        branches=Branches(database, clock, live),
        conversations=conversations,
        lifecycle=Lifecycle(database, clock),
        temporary=Temporary(database, clock, conversations),
        retention=Retention(
            database,
            clock,
            conversations,
            days=settings.retention_days,
            turn_days=settings.turn_retention_days,
            keep_counts=keep_counts,
        ),
        search=Search(database),
        choices=Choices(database, default_system_prompt=settings.default_system_prompt or ""),
        offered_models=OfferedModels(backends, rhythm),
        exports=Exports(database, clock, secret),
        imports=Imports(database, clock, secret),
        turns=turns,
        reports=Reports(database),
        overviews=Overviews(database),
        usages=Usages(database),
        profiles=Profiles(database, clock, passwords, accounts, live, max_characters=settings.max_message_characters),
        people=People(database, clock, passwords, accounts, turns, only_one_account=settings.only_one_account),
        invites=Invites(database, clock, passwords, accounts, limits, only_one_account=settings.only_one_account),
        audit_log=AuditLog(database, clock),
        request_limits=request_limits,
        backend_watch=BackendWatch(backends, rhythm, ServerStarts(database, clock).seen),
        inspections=Inspections(backends),
        partings=Partings(database),
        turn_counters=TurnCounters(database, clock),
        bus=bus,
        backends=backends,
        rounds=Rounds(database, Doctor(settings, clock=clock)),
        backend_reports=BackendReports(database),
        storages=Storages(database),
        day_sums=DaySums(database, clock),
        what_ifs=WhatIfs(database, Reports(database), backends, clock, secret),
    )
