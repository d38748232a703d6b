"""A day of turns as an operator would not like it: written straight into the database, for pages to show.

One conversation's system prompt has the date in it, a replica was restarted, and another one's pool is too small.
"""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from app.cache_outcomes import Outcome
from app.database.types import new_id
from app.models import Conversation, ServingEvent, Turn, User

MODEL = "qwen3-4b"
CANARY = "kumquat marmalade"
"""Stands in every title; no page of operators may have it."""


@dataclass
class Day:
    """`ids` are those of the turns by their outcome, in the order of time."""

    now: datetime
    session: Session
    draw: random.Random = field(default_factory=lambda: random.Random(7))
    ids: dict[Outcome, list[UUID]] = field(default_factory=dict)

    def conversation(self, owner_id: UUID, place: int) -> UUID:
        row = Conversation(
            id=new_id(), owner_id=owner_id, reference=f"bad{place:05d}", title=f"About {CANARY}", next_seq=1,
            salt=b"0" * 16, created_at=self.now, updated_at=self.now,
        )  # fmt: skip
        self.session.add(row)
        return row.id

    def turn(self, conversation_id: UUID, outcome: Outcome, hours_ago: float, **figures: Any) -> None:
        """A finished turn; its prompt, and what it should have read, are drawn unless they are given."""
        prompt = figures.pop("prompt", self.draw.randrange(1500, 7000))
        expected = None if outcome is Outcome.FIRST_TURN else int(prompt * 0.9)
        missed = figures.pop("missed", 0)
        cached = 0 if expected is None else expected - missed
        prefill = 40 + (prompt - cached) // 2
        values = {
            "id": new_id(), "conversation_id": conversation_id, "purpose": "chat", "kind": "question",
            "prompt_format": 1, "status": "completed", "stop_reason": "end_turn", "backend": "scripted", "model": MODEL,
            "input_tokens": prompt - cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached,
            "output_tokens": self.draw.randrange(20, 400), "expected_read_tokens": expected,
            "shortfall_tokens": None if expected is None else missed, "outcome": outcome, "fault": outcome.is_fault,
            "queued_ms": self.draw.randrange(1, 30), "admission_ms": self.draw.randrange(5, 60), "prefill_ms": prefill,
            "time_to_first_token_ms": prefill + 60, "duration_ms": prefill + 4000,
            "created_at": self.now - timedelta(hours=hours_ago), "finished_at": self.now - timedelta(hours=hours_ago),
        }  # fmt: skip
        row = Turn(**{**values, **figures})
        self.session.add(row)
        self.ids.setdefault(outcome, []).append(row.id)


def write_bad_day(database_file: str, now: datetime) -> dict[Outcome, list[UUID]]:
    """For the users that are there, and for operators where there are no others. The ids of the turns, by outcome."""
    engine = create_engine(f"sqlite:///{database_file}")
    with Session(engine) as session, session.begin():
        users = list(session.scalars(select(User).order_by(User.name)))
        owners = [user.id for user in users if user.role == "user"] or [user.id for user in users]
        day = Day(now, session)
        talks = [day.conversation(owners[place % len(owners)], place) for place in range(24)]
        _usual(day, talks)
        _short(day, [day.conversation(owners[0], 100 + place) for place in range(36)])
        _faults(day, talks)
        _others(day, talks)
        session.add(_event("server_start", "scripted", "one", now - timedelta(hours=20)))
        session.add(_event("server_start", "east", "two", now - timedelta(hours=3)))
        session.add(_event("app_start", None, None, now - timedelta(hours=9)))
        session.add(_event("setting_changed", None, None, now - timedelta(hours=6), "answer_tokens"))
    engine.dispose()
    return day.ids


def _usual(day: Day, talks: list[UUID]) -> None:
    for place, talk in enumerate(talks):
        backend = "east" if place % 3 == 0 else "scripted"
        start = 2 + 21.5 * place / len(talks)
        day.turn(talk, Outcome.FIRST_TURN, start + 0.3, prompt=day.draw.randrange(60, 400), backend=backend)
        for number in range(day.draw.randrange(4, 14)):
            day.turn(talk, Outcome.HIT, start - number / 7, backend=backend, prompt=400 + 500 * number)


def _short(day: Day, talks: list[UUID]) -> None:
    for place, talk in enumerate(talks):
        day.turn(talk, Outcome.FIRST_TURN, 0.5 + place / 2, prompt=90)


def _faults(day: Day, talks: list[UUID]) -> None:
    where = {"diverged_where": "system", "diverged_offset": 312, "diverged_kind": "date"}
    for number in range(14):
        missed = 2600 + 450 * number
        prompt = missed * 6 // 5 + 600
        day.turn(talks[4], Outcome.VOLATILE_SYSTEM_PROMPT, 7 - number / 2, prompt=prompt, missed=missed, **where)
    for number in range(22):
        day.turn(talks[5 + number % 9], Outcome.EVICTED, 22 - number * 1.03, prompt=4400, missed=900 + 60 * number)
    day.turn(talks[6], Outcome.EVICTED, 60, prompt=4000, missed=3000)
    for number in range(6):
        day.turn(talks[3 * number], Outcome.RESTARTED, 2.9 - number / 9, prompt=3500, missed=3100, backend="east")


def _others(day: Day, talks: list[UUID]) -> None:
    for number in range(3):
        day.turn(talks[15 + number], Outcome.SYSTEM_PROMPT_EDITED, 12 + number, prompt=4100, missed=3600)
    for number in range(30):
        day.turn(talks[3], Outcome.BLOCK_ROUNDING, 20 - number / 2, missed=number % 15 + 1, backend="east")
    nothing = {"input_tokens": None, "cache_creation_input_tokens": None, "cache_read_input_tokens": None}
    for number, error in enumerate(("overloaded_error", "overloaded_error", "timeout")):
        day.turn(
            talks[9], Outcome.NOT_REPORTED, 5 - number / 5, status="failed", error_type=error, stop_reason=None,
            output_tokens=None, shortfall_tokens=None, expected_read_tokens=None, **nothing,
        )  # fmt: skip


def _event(kind: str, backend: str | None, serving_id: str | None, at: datetime, detail: str | None = None) -> Any:
    return ServingEvent(id=new_id(), kind=kind, backend=backend, serving_id=serving_id, detail=detail, at=at)
