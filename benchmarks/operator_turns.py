"""A made-up past of an instance, to measure the operator's reports on: people, conversations, turns and events.

The same seed makes the same rows, in the order in which they would have come. Knows nothing of reports.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import create_engine, insert, make_url

from app.accounting import Reported, expected_read, shortfall
from app.cache_outcomes import Outcome
from app.database.base import Base
from app.models import Conversation, ServingEvent, Turn, User

END: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)
LENGTH: Final = timedelta(days=90)
TURNS_OF_A_CONVERSATION: Final = 50
USERS: Final = 200
MODELS: Final = ("smollm2-135m", "qwen3-8b", "llama-3.3-70b", "gemma-3-27b")
BACKENDS: Final = ("bundled", "replica-a", "replica-b")
# What becomes of a turn that has a base, with the share of its expected tokens that is read.
_OUTCOMES: Final = (
    (Outcome.HIT, 880, 1.0),
    (Outcome.MODEL_SWITCHED, 12, 0.0),
    (Outcome.SYSTEM_PROMPT_EDITED, 15, 0.1),
    (Outcome.HISTORY_TRIMMED, 8, 0.1),
    (Outcome.OTHER_REPLICA, 6, 0.0),
    (Outcome.RESTARTED, 8, 0.0),
    (Outcome.VOLATILE_SYSTEM_PROMPT, 12, 0.05),
    (Outcome.RETOKENIZED, 5, 0.9),
    (Outcome.PREFIX_CHANGED, 6, 0.5),
    (Outcome.STILL_COMPUTING, 5, 0.7),
    (Outcome.EVICTED, 20, 0.2),
    (Outcome.BLOCK_ROUNDING, 15, 0.995),
    (Outcome.UNKNOWN, 8, 0.8),
)
_WORDS: Final = [outcome for outcome, _, _ in _OUTCOMES]
_WEIGHTS: Final = [weight for _, weight, _ in _OUTCOMES]
_SHARES: Final = {outcome: share for outcome, _, share in _OUTCOMES}
_ERRORS: Final = ("overloaded", "connection_lost", "backend_unreachable", "first_token_timeout")


@dataclass
class _Conversation:
    id: UUID
    model: str
    backend: str
    last: Reported | None = None
    last_turn_id: UUID | None = None


@dataclass
class Past:
    """`turns` of them up to `END`, in about a fiftieth as many conversations; `seed` makes them."""

    turns: int
    seed: int = 7
    _random: random.Random = field(init=False)
    _conversations: list[_Conversation] = field(init=False)
    _users: list[UUID] = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._users = [self._id(END - LENGTH) for _ in range(min(USERS, self.turns))]
        births = max(1, self.turns // TURNS_OF_A_CONVERSATION)
        self._conversations = [
            _Conversation(
                self._id(END - LENGTH + LENGTH * number / births),
                self._random.choices(MODELS, (60, 25, 10, 5))[0],
                self._random.choices(BACKENDS, (50, 30, 20))[0],
            )
            for number in range(births)
        ]

    def users(self) -> Iterator[dict[str, Any]]:
        for number, user_id in enumerate(self._users):
            yield {
                "id": user_id,
                "name": f"user {number}",
                "name_key": f"user {number}",
                "password_hash": "none",
                "role": "user",
                "created_at": END - LENGTH,
            }

    def conversations(self) -> Iterator[dict[str, Any]]:
        for number, conversation in enumerate(self._conversations):
            # A few people write most of it.
            owner = self._users[int(len(self._users) * self._random.random() ** 3)]
            at = END - LENGTH + LENGTH * number / len(self._conversations)
            yield {
                "id": conversation.id,
                "owner_id": owner,
                "reference": f"c{number:07}",
                "model": conversation.model,
                "created_at": at,
                "updated_at": at,
                "deleted_at": at if number % 20 == 0 else None,
            }

    def events(self) -> Iterator[dict[str, Any]]:
        for day in range(0, LENGTH.days, 2):
            backend = BACKENDS[day // 2 % len(BACKENDS)]
            at = END - LENGTH + timedelta(days=day)
            yield {
                "id": self._id(at),
                "kind": "server_start",
                "backend": backend,
                "serving_id": f"serving-{day}",
                "at": at,
            }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Of the table of turns, oldest first. Each call would go on where the one before has ended."""
        for number in range(self.turns):
            yield self._turn(number)

    def _turn(self, number: int) -> dict[str, Any]:
        random = self._random
        at = END - LENGTH + LENGTH * ((number + random.random()) / self.turns)
        newest = number * len(self._conversations) // self.turns
        # A conversation goes on while some dozens of others begin.
        conversation = self._conversations[abs(newest - int(random.expovariate(1 / 40))) % len(self._conversations)]
        row = self._plain(conversation, at)
        if random.random() < 0.03:
            self._failed(row)
        elif random.random() < 0.01:
            row.update(outcome=Outcome.NOT_REPORTED.value, output_tokens=random.randrange(1, 400))
            self._timed(row, 300)
        else:
            self._answered(row, conversation)
        if random.random() < 0.002:
            row.update(purpose="probe", conversation_id=None, base_turn_id=None)
        elif random.random() < 0.005:
            row.update(imported_at=at)
        elif random.random() < 0.002:
            row.update(conversation_id=None)
        return row

    def _plain(self, conversation: _Conversation, at: datetime) -> dict[str, Any]:
        """With every column that rows of turns have here, so that many can be stored with one statement."""
        return {
            "id": self._id(at),
            "conversation_id": conversation.id,
            "purpose": "chat",
            "kind": self._random.choices(("question", "regenerate", "edit", "continue"), (88, 5, 5, 2))[0],
            "base_turn_id": conversation.last_turn_id,
            "model": conversation.model,
            "params": '{"max_tokens": 2048, "temperature": 0.7}',
            "prompt_format": 1,
            "request_sha256": f"{self._random.getrandbits(256):064x}",
            "backend": conversation.backend,
            "serving_id": "serving-1",
            "backend_message_id": f"msg_{self._random.getrandbits(96):024x}",
            "status": "completed",
            "worker_id": self._users[0],
            "input_tokens": None,
            "cache_creation_input_tokens": None,
            "cache_read_input_tokens": None,
            "output_tokens": None,
            "expected_read_tokens": None,
            "expected_is_minimum": None,
            "shortfall_tokens": None,
            "outcome": None,
            "fault": False,
            "law_mismatch": None,
            "diverged_where": None,
            "diverged_offset": None,
            "diverged_kind": None,
            "error_type": None,
            "stop_reason": "end_turn",
            "queued_ms": None,
            "admission_ms": None,
            "prefill_ms": None,
            "time_to_first_token_ms": None,
            "duration_ms": None,
            "created_at": at,
            "finished_at": at + timedelta(seconds=self._random.uniform(1, 30)),
            "imported_at": None,
        }

    def _failed(self, row: dict[str, Any]) -> None:
        sent = self._random.random() < 0.6
        row.update(
            status=self._random.choice(("failed", "failed", "interrupted", "stopped")),
            outcome=(Outcome.NOT_REPORTED if sent else Outcome.NOT_SENT).value,
            error_type=self._random.choice(_ERRORS),
            stop_reason=None,
        )
        if not sent:
            row.update(model=None, backend=None)

    def _answered(self, row: dict[str, Any], conversation: _Conversation) -> None:
        random = self._random
        base = conversation.last
        held = base.kv_tokens_at_end if base else 40
        assert held is not None
        if held > 16_000:
            held = 8_000
        prompt = held + int(random.lognormvariate(4.2, 0.9)) + 5
        output = min(2048, int(random.lognormvariate(5.0, 0.8)) + 1)
        expected = expected_read(base)
        outcome = random.choices(_WORDS, _WEIGHTS)[0] if base else Outcome.FIRST_TURN
        readable = min(expected.tokens, prompt - 1) if expected.tokens is not None else 0
        cached = int(readable * _SHARES.get(outcome, 0))
        reported = Reported(prompt - cached, 0, cached, output)
        missed = shortfall(expected.tokens, reported)
        if missed == 0:
            outcome = Outcome.HIT
        row.update(
            input_tokens=prompt - cached,
            cache_creation_input_tokens=0,
            cache_read_input_tokens=cached,
            output_tokens=output,
            expected_read_tokens=expected.tokens,
            expected_is_minimum=False if base else None,
            shortfall_tokens=missed,
            outcome=outcome.value,
            fault=outcome.is_fault,
            law_mismatch=random.random() < 0.001 if base else None,
        )
        if outcome is Outcome.VOLATILE_SYSTEM_PROMPT:
            row.update(diverged_where="system", diverged_offset=random.randrange(400), diverged_kind="date")
        self._timed(row, prompt - cached)
        conversation.last, conversation.last_turn_id = reported, row["id"]

    def _timed(self, row: dict[str, Any], computed: int) -> None:
        """Backends that do not begin their message early have one time only."""
        random = self._random
        queued, admission = int(random.lognormvariate(1.5, 1.2)), int(random.lognormvariate(2.5, 1.0))
        prefill = int(30 + computed * random.uniform(0.3, 0.7) + random.lognormvariate(3, 1))
        early = row["backend"] == BACKENDS[0]
        row.update(
            queued_ms=queued,
            admission_ms=admission if early else None,
            prefill_ms=prefill if early else None,
            time_to_first_token_ms=queued + admission + prefill,
            duration_ms=queued + admission + prefill + math.ceil((row["output_tokens"] or 0) * 20),
        )

    def _id(self, at: datetime) -> UUID:
        """As the app makes them: they sort by time."""
        milliseconds = int(at.timestamp() * 1000)
        bits = self._random.getrandbits(74)
        return UUID(int=milliseconds << 80 | 7 << 76 | (bits >> 62) << 64 | 2 << 62 | bits & ((1 << 62) - 1))


def fill(url: str, past: Past, chunk: int = 2_000) -> None:
    """A migrated, empty database; in the order in which it came, a chunk in each transaction."""
    parsed = make_url(url)
    sqlite = parsed.get_backend_name() == "sqlite"
    engine = create_engine(parsed.set(drivername="sqlite+pysqlite" if sqlite else "postgresql+psycopg"))
    tables: tuple[tuple[type[Base], Iterator[dict[str, Any]]], ...] = (
        (User, past.users()),
        (Conversation, past.conversations()),
        (ServingEvent, past.events()),
        (Turn, past.rows()),
    )
    for table, rows in tables:
        while some := list(islice(rows, chunk)):
            with engine.begin() as connection:
                connection.execute(insert(table), some)
    engine.dispose()
