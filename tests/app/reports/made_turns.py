"""Random rows of turns that keep the rules of the table, and the people and conversations that they belong to."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from sqlalchemy import delete, insert

from app.accounting import Reported, shortfall
from app.cache_outcomes import Outcome
from app.database import Database
from app.models import Conversation, ServingEvent, Turn
from tests.app.houses import START, add_user

CONVERSATIONS = [UUID(int=number) for number in range(1, 5)]
MODELS = (None, "large", "small")
BACKENDS = (None, "one", "two")
# Few different ones, so that there are equal sort keys and instants.
MOMENTS = [START - timedelta(minutes=minutes) for minutes in (0, 1, 59, 60, 61, 60 * 25, 60 * 24 * 6, 60 * 24 * 40)]
_MISSES = sorted(set(Outcome) - {Outcome.PENDING, Outcome.NOT_SENT, Outcome.NOT_REPORTED})
_counts = st.one_of(st.none(), st.integers(0, 300))
_times = st.one_of(st.none(), st.integers(0, 5_000))


@st.composite
def turn_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    numbers = range(draw(st.integers(0, 14)))
    rows = [draw(_rows(UUID(int=1000 + number))) for number in numbers]
    living = [row for row in rows if row["outcome"] is None]
    for row in living:
        # Of each conversation, one turn is live at most.
        if any(other["conversation_id"] == row["conversation_id"] for other in living if other is not row):
            row["conversation_id"] = None
    return rows


@st.composite
def _rows(draw: st.DrawFn, id_: UUID) -> dict[str, Any]:
    status = draw(st.sampled_from(("queued", "running", "completed", "completed", "completed", "stopped", "failed")))
    reported = Reported(*(draw(_counts) for _ in range(4)))
    expected = draw(_counts)
    missed = shortfall(expected, reported)
    outcome = _outcome(draw, status, reported, missed)
    return {
        "id": id_,
        "conversation_id": draw(st.sampled_from([None, *CONVERSATIONS])),
        "purpose": draw(st.sampled_from(("chat", "chat", "chat", "chat", "probe"))),
        "kind": "question",
        "prompt_format": 1,
        "params": "{}",
        "model": draw(st.sampled_from(MODELS)),
        "backend": draw(st.sampled_from(BACKENDS)),
        "status": status,
        "input_tokens": reported.input_tokens,
        "cache_creation_input_tokens": reported.cache_creation_input_tokens,
        "cache_read_input_tokens": reported.cache_read_input_tokens,
        "output_tokens": reported.output_tokens,
        "expected_read_tokens": expected,
        "shortfall_tokens": missed,
        "outcome": outcome,
        "fault": outcome is not None and outcome.is_fault,
        "law_mismatch": draw(st.sampled_from((None, False, True))),
        "error_type": draw(st.sampled_from((None, "overloaded", "internal"))) if status == "failed" else None,
        "queued_ms": draw(_times),
        "admission_ms": draw(_times),
        "prefill_ms": draw(_times),
        "time_to_first_token_ms": draw(_times),
        "diverged_where": draw(st.sampled_from((None, "system"))),
        "created_at": draw(st.sampled_from(MOMENTS)),
        "imported_at": draw(st.sampled_from((None, None, None, START))),
    }


def _outcome(draw: st.DrawFn, status: str, reported: Reported, missed: int | None) -> Outcome | None:
    if status in ("queued", "running"):
        return None
    if reported.prompt_tokens is None:
        return draw(st.sampled_from((Outcome.NOT_SENT, Outcome.NOT_REPORTED)))
    if missed == 0:
        return Outcome.HIT
    return draw(st.sampled_from([outcome for outcome in _MISSES if outcome is not Outcome.HIT]))


async def add_owners(database: Database) -> dict[UUID, UUID]:
    """Two people with two conversations each; the last one is deleted. The owner by conversation."""
    users = [await add_user(database, name) for name in ("Anna", "Berta")]
    owners = {conversation: users[place % 2] for place, conversation in enumerate(CONVERSATIONS)}
    rows = [
        {
            "id": conversation,
            "owner_id": owner,
            "reference": f"c{conversation.int}",
            "created_at": START,
            "updated_at": START,
            "deleted_at": START if conversation == CONVERSATIONS[-1] else None,
        }
        for conversation, owner in owners.items()
    ]
    async with database.write() as session:
        await session.execute(insert(Conversation), rows)
    return owners


async def replace_turns(database: Database, rows: Sequence[dict[str, Any]]) -> None:
    async with database.write() as session:
        await session.execute(delete(Turn))
        await session.execute(delete(ServingEvent))
        if rows:
            await session.execute(insert(Turn), rows)
