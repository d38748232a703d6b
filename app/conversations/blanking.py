"""What deleting leaves of turns: numbers. Whatever could tell a text or be checked against one goes."""

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.live import GoneTurn
from app.models import Submission, Turn


async def blank_turns(session: AsyncSession, turns: ColumnElement[bool]) -> list[GoneTurn]:
    """Also forgets the send forms of these turns, so that no form can name what is gone.

    Their system prompts stay named: they belong to the conversation, and go with it. Returns all of them, for those
    who hold their text elsewhere.
    """
    gone = [GoneTurn(*row) for row in await session.execute(select(Turn.id, Turn.backend_message_id).where(turns))]
    of_them = select(Turn.id).where(turns).scalar_subquery()
    await session.execute(delete(Submission).where(Submission.turn_id.in_(of_them)))
    await session.execute(
        update(Turn)
        .where(turns)
        .values(
            user_message_id=None,
            assistant_message_id=None,
            history_start_message_id=None,
            request_sha256=None,
            backend_message_id=None,
            stop_sequence=None,
            error_message=None,
            diverged_where=None,
            diverged_offset=None,
        )
    )
    return gone
