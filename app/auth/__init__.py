"""Who somebody is: accounts, passwords, sessions, and the set-up of the first account."""

from app.auth.account import Account, UserRole
from app.auth.accounts import Accounts
from app.auth.sessions import Sessions
from app.auth.setup import Setup

__all__ = ["Account", "Accounts", "Sessions", "Setup", "UserRole"]
