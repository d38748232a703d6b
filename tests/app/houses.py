"""Houses for tests: their settings, their users, and the way through one whole turn."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import anyio
from argon2 import PasswordHasher

from app.auth.names import name_key
from app.auth.passwords import Passwords
from app.conversations import MessageView
from app.database import Database
from app.house import House
from app.models import User
from app.settings import Backend, Settings
from app.turns import SendRequest, SentTurn, TurnEvent
from app.turns.rhythm import Rhythm

START = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
# A list of models that comes late is one that does not come; a busy machine must not decide which it is.
PATIENT = Rhythm(list_patience=10)
QUICK = Rhythm(checkpoint=0.05, heartbeat=0.05, reap=0.05, poll=0.02, store_pauses=(0.01, 0.05), last_tries=0.1)


def cheap_passwords() -> Passwords:
    """Hashes of little worth, to save time: a real one costs more than all else that most tests do."""
    return Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


class MovingClock:
    """Stands still until it is moved, in either direction."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **parts: float) -> None:
        self.now += timedelta(**parts)


def settings_for(database_url: str, backend_url: str, *, inspection: bool = False, **changes: object) -> Settings:
    """One scripted backend; with `inspection` it is asked for its tokens, too."""
    backend = Backend(
        name="scripted", base_url=backend_url, early_message_start=True, prefill=True, inspection=inspection
    )
    values = {"database_url": database_url, "backends": (backend,), "drain_seconds": 0, **changes}
    return Settings(_env_file=None, **values)


async def add_user(database: Database, name: str = "Anna", *, time_zone: str | None = None) -> UUID:
    """A user who cannot sign in, without the cost of a password."""
    user = User(
        name=name,
        name_key=name_key(name),
        password_hash="none",
        role="user",
        time_zone=time_zone,
        created_at=START,
    )
    async with database.write() as session:
        session.add(user)
    return user.id


def question(text: str = "Hello", conversation_id: UUID | None = None, **changes: str | None) -> SendRequest:
    """A send request with a key of its own, in whichever process it is made."""
    values = {"submission_key": uuid4().hex, **changes}
    return SendRequest(text=text, conversation_id=conversation_id, **values)


async def follow(house: House, owner: UUID, turn_id: UUID, after: int = 0) -> list[TurnEvent]:
    return [event async for event in await house.turns.events(owner, turn_id, after)]


async def ask(
    house: House, owner: UUID, text: str = "Hello", conversation_id: UUID | None = None, **changes: str | None
) -> SentTurn:
    """Sends and waits for the end."""
    sent = await house.turns.send(owner, question(text, conversation_id, **changes))
    await follow(house, owner, sent.turn_id)
    return sent


async def last_answer(house: House, owner: UUID, conversation_id: UUID) -> MessageView:
    return (await house.conversations.view(owner, conversation_id)).messages[-1]


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Looks again and again; the test's own time limit ends a hopeless wait."""
    while True:
        if await condition():
            return
        await anyio.sleep(0.01)


async def until_kind(events: AsyncIterator[TurnEvent], kind: str) -> TurnEvent:
    async for event in events:
        if event.kind == kind:
            return event
    raise AssertionError(f"no {kind} came")
