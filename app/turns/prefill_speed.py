"""How fast a backend was measured to read prompts, to say beforehand what computing one again would cost."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Turn

FEWEST_TOKENS: Final = 128
"""Turns that computed less say more of the overhead than of the speed."""
PERIOD: Final = timedelta(hours=24)


async def prefill_speeds(session: AsyncSession, backends: Collection[str], now: datetime) -> dict[str, float]:
    """Computed tokens per second of prefill; without backends of which no turn of the period has both figures."""
    computed = Turn.input_tokens + Turn.cache_creation_input_tokens
    query = select(Turn.backend, func.sum(computed), func.sum(Turn.prefill_ms)).where(
        Turn.backend.in_(backends),
        Turn.imported_at.is_(None),
        Turn.created_at > now - PERIOD,
        Turn.prefill_ms > 0,
        computed >= FEWEST_TOKENS,
    )
    rows = (await session.execute(query.group_by(Turn.backend))).all()
    return {name: int(tokens) * 1000 / int(ms) for name, tokens, ms in rows if name and tokens and ms}
