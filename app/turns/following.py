"""Following a turn: from its event log, or from SQL, now and then, for as long as there is no log."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from uuid import UUID

from sqlalchemy import select

from app.conversations import BEYOND_LOGS
from app.database import Database
from app.models import LIVE_STATES, Message, Turn
from app.turns.bus import Bus, LogLost
from app.turns.events import TurnEvent


async def follow(
    bus: Bus, database: Database, turn_id: UUID, after: int, poll_seconds: float
) -> AsyncIterator[TurnEvent]:
    """Everything behind `after` up to `end`. Where a log comes, or comes back, it begins with a `reset`.

    From SQL there is a `reset` whenever the stored text has changed, then `end`; their numbers are beyond those
    of any log, so that none can take them for its own.
    """
    shown: str | None = None
    while True:
        log = await bus.follow(turn_id, after)
        if log is not None:
            shown = None
            try:
                async with aclosing(log):
                    async for event in log:
                        after = event.seq
                        yield event
                        if event.kind == "end":
                            return
                return  # The reader has everything, the end included.
            except LogLost:
                pass
        turn, text = await _read(database, turn_id)
        live = turn.status in LIVE_STATES
        if live and log is not None:
            continue  # Silent, or new: the next look tells whether it is gone.
        after = max(after, BEYOND_LOGS)
        if text != shown:
            shown = text
            after += 1
            yield TurnEvent(after, "reset", {"text": text, "cursor": after})
        if not live:
            end = {name: getattr(turn, name) for name in ("status", "stop_reason", "error_type", "error_message")}
            yield TurnEvent(after + 1, "end", end)
            return
        await asyncio.sleep(poll_seconds)


async def _read(database: Database, turn_id: UUID) -> tuple[Turn, str]:
    """The text of a deleted conversation is gone and reads as empty."""
    query = (
        select(Turn, Message.text).outerjoin(Message, Message.id == Turn.assistant_message_id).where(Turn.id == turn_id)
    )
    async with database.read() as session:
        turn, text = (await session.execute(query)).one()
    return turn, text or ""
