"""Who somebody is and what they may do: accounts, passwords, sessions, invites, and the set-up of the first account."""

from app.auth.account import Account, NewAccount, UserRole
from app.auth.accounts import Accounts
from app.auth.audit_log import AuditLog, AuditRow
from app.auth.invites import InviteRow, Invites
from app.auth.people import People, Person
from app.auth.profiles import Profile, Profiles
from app.auth.request_limits import RequestLimits
from app.auth.sessions import SessionRow, Sessions
from app.auth.setup import Setup

__all__ = [
    "Account",
    "Accounts",
    "AuditLog",
    "AuditRow",
    "InviteRow",
    "Invites",
    "NewAccount",
    "People",
    "Person",
    "Profile",
    "Profiles",
    "RequestLimits",
    "SessionRow",
    "Sessions",
    "Setup",
    "UserRole",
]
