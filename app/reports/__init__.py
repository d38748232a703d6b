"""What operators see: figures by conversation and turn; and what each person has used."""

from app.reports.figures import ConversationReport, ConversationRow, TurnRow
from app.reports.reports import Reports
from app.reports.usage import Usage, Usages, Used, UsedDay

__all__ = ["ConversationReport", "ConversationRow", "Reports", "TurnRow", "Usage", "Usages", "Used", "UsedDay"]
