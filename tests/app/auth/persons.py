"""Users with passwords whose hashes cost little, and the services that act on them."""

from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import select

from app.auth import Accounts, Invites, People, Profiles, Sessions, UserRole
from app.auth.names import name_key
from app.auth.passwords import Passwords
from app.auth.sign_in_limits import SignInLimits
from app.conversations.live import LiveText
from app.database import Database
from app.models import AuditEntry, User
from tests.app.houses import START, MovingClock, cheap_passwords

PASSWORD = "correct horse"
REMOTE = "1.2.3.4"


@dataclass
class RecordedTurns:
    """Notes whose turns were stopped, and which logs were dropped."""

    stopped: list[UUID] = field(default_factory=list)
    forgotten: list[UUID] = field(default_factory=list)

    async def stop_all_of(self, owner_id: UUID) -> None:
        self.stopped.append(owner_id)

    def snapshot(self, turn_id: UUID) -> LiveText | None:
        return None

    async def forget(self, turn_id: UUID) -> None:
        self.forgotten.append(turn_id)


class Office:
    """All services on one database, as the house wires them."""

    def __init__(self, database: Database, clock: MovingClock) -> None:
        self.database = database
        self.clock = clock
        self.turns = RecordedTurns()
        passwords, limits = cheap_passwords(), SignInLimits(None)
        self.passwords: Passwords = passwords
        self.accounts = Accounts(database, clock, passwords, limits)
        self.sessions = Sessions(database, clock, idle_days=7, absolute_days=30)
        self.people = People(database, clock, passwords, self.accounts, self.turns)
        self.invites = Invites(database, clock, passwords, self.accounts, limits)
        self.profiles = Profiles(database, clock, passwords, self.accounts, self.turns, max_characters=100)

    async def add(self, name: str, role: UserRole = "user") -> UUID:
        user = User(
            name=name,
            name_key=name_key(name),
            password_hash=await self.passwords.hash(PASSWORD),
            role=role,
            created_at=START,
        )
        async with self.database.write() as session:
            session.add(user)
        return user.id

    async def user(self, user_id: UUID) -> User:
        async with self.database.read() as session:
            return await session.get_one(User, user_id)

    async def audited(self) -> list[tuple[str, UUID | None, str | None, str | None]]:
        """Action, actor, subject and address of every line, oldest first."""
        async with self.database.read() as session:
            entries = await session.scalars(select(AuditEntry).order_by(AuditEntry.id))
            return [(entry.action, entry.actor_id, entry.subject, entry.remote) for entry in entries]

    async def actions(self) -> list[str]:
        return [line[0] for line in await self.audited()]
