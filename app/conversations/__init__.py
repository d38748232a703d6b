"""Conversations and their message trees as their owner sees them."""

from app.conversations.branches import Branches
from app.conversations.conversations import Conversations
from app.conversations.figures import TurnFigures, TurnKind, TurnStatus
from app.conversations.live import BEYOND_LOGS, GoneTurn, LiveText, LiveTurns
from app.conversations.views import ConversationSummary, ConversationView, MessageView

__all__ = [
    "BEYOND_LOGS",
    "Branches",
    "ConversationSummary",
    "ConversationView",
    "Conversations",
    "GoneTurn",
    "LiveText",
    "LiveTurns",
    "MessageView",
    "TurnFigures",
    "TurnKind",
    "TurnStatus",
]
