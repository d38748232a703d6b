"""The SQL of a running turn: begin, checkpoint, end. A turn ends once, by compare-and-set."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, CursorResult, Update, case, exists, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app import accounting
from app.cache_outcomes import Outcome
from app.conversations.temporary import prolonged
from app.models import TURN_IS_LIVE, Conversation, Message, Turn
from app.summed_days import forget_days_of
from app.turns.answer import Answer
from app.turns.endings import ROWS_GONE, WORKER_LOST, Ending
from app.turns.plan import Plan
from app.turns.server_starts import record_start
from inference_client import PrefixCache

LONGEST_OUTCOME = 32


async def mark_running(session: AsyncSession, turn_id: UUID, *, model: str, backend: str, request_sha256: str) -> bool:
    """False if the turn has ended already. Called again where it goes to another backend.

    Only now is it known which model answers a conversation that names none, so it is here that it is compared with
    that of the base turn. Another model reuses nothing whatever else has changed, so this reason goes before others.
    """
    base = aliased(Turn)
    base_model = select(base.model).where(base.id == Turn.base_turn_id).correlate(Turn).scalar_subquery()
    return await _changed(
        session,
        update(Turn)
        .where(Turn.id == turn_id, TURN_IS_LIVE)
        .values(
            status="running",
            model=model,
            backend=backend,
            request_sha256=request_sha256,
            known_cause=case((base_model != model, Outcome.MODEL_SWITCHED.value), else_=Turn.known_cause),
        ),
    )


async def save_progress(session: AsyncSession, plan: Plan, answer: Answer) -> None:
    """The text so far and what is known of the prompt; how much was written is known at the end only.

    Nothing changes where the turn has ended: its text may have been sent again already.
    """
    query = update(Turn).where(Turn.id == plan.turn_id, TURN_IS_LIVE).values(**_prompt_figures(plan, answer))
    if await _changed(session, query):
        await save_text(session, plan.assistant_message_id, answer.text)


async def save_text(session: AsyncSession, message_id: UUID, text: str) -> None:
    """Text only grows, so a late checkpoint never overwrites a later text."""
    query = update(Message).where(Message.id == message_id, func.length(Message.text) < len(text))
    await session.execute(query.values(text=text))


async def end_turn(session: AsyncSession, plan: Plan, answer: Answer, ending: Ending, now: datetime) -> bool:
    """Stores the whole result; False, and no change, if the turn was ended or deleted before.

    A worker that the database was away from may have been taken for dead wrongly. The true end replaces that
    one as long as nobody has gone on from the text, below it or in another turn of the same answer.
    """
    await session.execute(
        select(Conversation.id).where(Conversation.id == plan.conversation_id).with_for_update(key_share=True)
    )
    ended = await close_turn(session, plan.turn_id, ending, now, _figures(plan, answer))
    if not ended and ending != ROWS_GONE:
        later = aliased(Turn)
        mistaken = (
            (Turn.error_type == WORKER_LOST.error_type)
            & ~exists().where(
                Message.conversation_id == plan.conversation_id, Message.parent_id == plan.assistant_message_id
            )
            & ~exists().where(later.assistant_message_id == plan.assistant_message_id, later.id > plan.turn_id)
        )
        ended = await _close(session, plan.turn_id, mistaken, ending, now, _figures(plan, answer))
        if ended:
            await forget_days_of(session, await session.scalars(select(Turn.created_at).where(Turn.id == plan.turn_id)))
    if ended:
        await save_text(session, plan.assistant_message_id, answer.text)
        await record_start(session, plan.turn_id)
        touched = update(Conversation).where(Conversation.id == plan.conversation_id)
        await session.execute(touched.values(updated_at=now, expires_at=prolonged(now)))
    return ended


async def close_turn(
    session: AsyncSession,
    turn_id: UUID,
    ending: Ending,
    now: datetime,
    figures: Mapping[str, Any] | None = None,
) -> bool:
    return await _close(session, turn_id, TURN_IS_LIVE, ending, now, figures or {})


async def _close(
    session: AsyncSession,
    turn_id: UUID,
    condition: ColumnElement[bool],
    ending: Ending,
    now: datetime,
    figures: Mapping[str, Any],
) -> bool:
    return await _changed(
        session,
        update(Turn)
        .where(Turn.id == turn_id, condition)
        .values(
            status=ending.status,
            error_type=ending.error_type,
            error_message=ending.error_message,
            finished_at=now,
            **figures,
        ),
    )


def _prompt_figures(plan: Plan, answer: Answer) -> dict[str, Any]:
    reported, said = answer.reported, answer.prefix_cache
    return {
        "input_tokens": reported.input_tokens,
        "cache_creation_input_tokens": reported.cache_creation_input_tokens,
        "cache_read_input_tokens": reported.cache_read_input_tokens,
        "shortfall_tokens": accounting.shortfall(plan.expected_read_tokens, reported),
        "server_expected_tokens": answer.server_expected,
        **(_said_by_server(said) if said else {}),
    }


def _said_by_server(said: PrefixCache) -> dict[str, Any]:
    return {
        "serving_id": said.serving_id,
        "server_outcome": said.outcome and said.outcome[:LONGEST_OUTCOME],
        "diverged_token": said.diverged_at_token,
        # What was found before the request is more exact.
        "diverged_where": func.coalesce(Turn.diverged_where, said.diverged_in),
    }


def _figures(plan: Plan, answer: Answer) -> dict[str, Any]:
    return {
        **_prompt_figures(plan, answer),
        "output_tokens": answer.reported.output_tokens,
        "backend_message_id": answer.message_id,
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        **answer.timings(),
    }


async def _changed(session: AsyncSession, statement: Update) -> bool:
    result = await session.execute(statement.execution_options(synchronize_session=False))
    assert isinstance(result, CursorResult)
    return result.rowcount == 1
