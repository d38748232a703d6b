"""How fast a backend was measured to read prompts, to say beforehand what computing one again would cost."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Turn

FEWEST_TOKENS: Final = 128
"""Turns that computed less say more of the overhead than of the speed."""
PERIOD: Final = timedelta(hours=24)


async def prefill_speed(session: AsyncSession, backend: str, now: datetime) -> float | None:
    """Computed tokens per second of prefill; None where no turn of the period has both figures."""
    computed = Turn.input_tokens + Turn.cache_creation_input_tokens
    query = select(func.sum(computed), func.sum(Turn.prefill_ms)).where(
        Turn.backend == backend,
        Turn.imported_at.is_(None),
        Turn.created_at > now - PERIOD,
        Turn.prefill_ms > 0,
        computed >= FEWEST_TOKENS,
    )
    tokens, milliseconds = (await session.execute(query)).one()
    return None if tokens is None or milliseconds is None else int(tokens) * 1000 / int(milliseconds)
