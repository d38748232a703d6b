"""Following a turn whose event log is not in this process: its text is read from SQL now and then."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

from sqlalchemy import select

from app.database import Database
from app.models import LIVE_STATES, Message, Turn
from app.turns.bus import Bus
from app.turns.events import TurnEvent


async def follow(
    bus: Bus, database: Database, turn_id: UUID, after: int, poll_seconds: float
) -> AsyncIterator[TurnEvent]:
    """Everything behind `after` up to `end`, from the log where there is one."""
    log = bus.follow(turn_id, after)
    if log is not None:
        async for event in log:
            after = event.seq
            yield event
            if event.kind == "end":
                return
        if bus.snapshot(turn_id) is not None:
            return  # The reader has everything, the end included.
    async for event in _follow_rows(database, turn_id, after, poll_seconds):
        yield event


async def _follow_rows(database: Database, turn_id: UUID, after: int, poll_seconds: float) -> AsyncIterator[TurnEvent]:
    """`reset` whenever the stored text has changed, then `end`; numbers go on from `after`."""
    shown: str | None = None
    while True:
        turn, text = await _read(database, turn_id)
        if text != shown:
            shown = text
            after += 1
            yield TurnEvent(after, "reset", {"text": text, "cursor": after})
        if turn.status not in LIVE_STATES:
            break
        await asyncio.sleep(poll_seconds)
    end = {name: getattr(turn, name) for name in ("status", "stop_reason", "error_type", "error_message")}
    yield TurnEvent(after + 1, "end", end)


async def _read(database: Database, turn_id: UUID) -> tuple[Turn, str]:
    """The text of a deleted conversation is gone and reads as empty."""
    query = (
        select(Turn, Message.text).outerjoin(Message, Message.id == Turn.assistant_message_id).where(Turn.id == turn_id)
    )
    async with database.read() as session:
        turn, text = (await session.execute(query)).one()
    return turn, text or ""
