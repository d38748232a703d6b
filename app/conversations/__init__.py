"""Conversations and their message trees as their owner sees them."""

from app.conversations.branches import Branches
from app.conversations.conversations import Conversations
from app.conversations.figures import TurnFigures, TurnKind, TurnStatus
from app.conversations.live import LiveText, LiveTurns
from app.conversations.views import ConversationSummary, ConversationView, MessageView

__all__ = [
    "Branches",
    "ConversationSummary",
    "ConversationView",
    "Conversations",
    "LiveText",
    "LiveTurns",
    "MessageView",
    "TurnFigures",
    "TurnKind",
    "TurnStatus",
]
