"""What a conversation's turns would have read from the cache if they had been sent in another way."""

from app.what_if.values import ConversationWhatIf, Obstacle, Read, Sums, TurnWhatIf
from app.what_if.what_ifs import WhatIfs

__all__ = ["ConversationWhatIf", "Obstacle", "Read", "Sums", "TurnWhatIf", "WhatIfs"]
