"""Every table. Rows only: no queries, no rules."""

from app.models.accounts import Invite, User, UserSession
from app.models.conversations import Conversation, Message, SystemPrompt
from app.models.records import AuditEntry, ServingEvent, StoredSetting
from app.models.sums import SummedDay, TurnSums
from app.models.turns import LIVE_STATES, TURN_IS_LIVE, RemovedTurns, Submission, Turn, Worker

__all__ = [
    "LIVE_STATES",
    "TURN_IS_LIVE",
    "AuditEntry",
    "Conversation",
    "Invite",
    "Message",
    "RemovedTurns",
    "ServingEvent",
    "StoredSetting",
    "Submission",
    "SummedDay",
    "SystemPrompt",
    "Turn",
    "TurnSums",
    "User",
    "UserSession",
    "Worker",
]
