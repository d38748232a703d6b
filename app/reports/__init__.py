"""What operators see: figures by conversation and turn, and over all; and what each person has used."""

from app.reports.figures import BranchRow, ConversationReport, TurnReport, TurnRow
from app.reports.overviews import Overviews
from app.reports.reports import Reports
from app.reports.usage import Usage, Usages, Used, UsedDay

__all__ = [
    "BranchRow",
    "ConversationReport",
    "Overviews",
    "Reports",
    "TurnReport",
    "TurnRow",
    "Usage",
    "Usages",
    "Used",
    "UsedDay",
]
