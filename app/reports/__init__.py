"""What operators see: figures by conversation and turn."""

from app.reports.figures import ConversationReport, ConversationRow, TurnRow
from app.reports.reports import Reports

__all__ = ["ConversationReport", "ConversationRow", "Reports", "TurnRow"]
