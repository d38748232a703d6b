"""Turns: sending, generating as a job of the server, following, stopping."""

from app.turns.events import TurnEvent
from app.turns.requests import SendRequest, SentTurn
from app.turns.turns import Turns

__all__ = ["SendRequest", "SentTurn", "TurnEvent", "Turns"]
