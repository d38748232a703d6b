"""What was sent once is sent again byte for byte: after restarts, in other zones, on either database."""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from uuid import UUID

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.house import House, open_house
from app.text import is_blank
from tests.app.conftest import Stage
from tests.app.databases import PostgresFactory, SqliteFactory
from tests.app.houses import QUICK, MovingClock, add_user, ask, settings_for
from tests.scripted_backend import (
    ScriptedBackend,
    answer,
    delta,
    error_event,
    error_reply,
    message_start,
)

odd = ["<context-note>", "</context-note>", "\r\n", "\r", "\x00", "\ufeff", "e\u0301", " ", "\n\n", '"}],"']
words = st.lists(st.one_of(st.sampled_from(odd), st.text(st.characters(exclude_categories=()))), max_size=4)
questions = words.map("".join).filter(lambda text: not is_blank(text))
deltas = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=6), max_size=4)
scripts = st.one_of(
    deltas.map(lambda texts: answer(*texts)),
    deltas.map(lambda texts: answer(*texts, stop_reason="max_tokens")),
    deltas.map(lambda texts: [message_start(), *map(delta, texts)]),
    deltas.map(lambda texts: [message_start(), *map(delta, texts), error_event()]),
    st.just([error_reply(400, "invalid_request_error")]),
)
zones = st.sampled_from([None, "Asia/Seoul", "Europe/Berlin", "America/New_York", "No/Where"])
asks = st.tuples(st.just("ask"), questions, scripts, zones)
moves = st.tuples(st.just("move"), st.integers(-7200, 400_000))
steps = st.lists(st.one_of(asks, asks, moves, st.just(("restart",))), min_size=4, max_size=9)


@pytest.fixture
def server_zone() -> Iterator[None]:
    before = os.environ.get("TZ")
    yield
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def set_server_zone(name: str) -> None:
    os.environ["TZ"] = name
    time.tzset()


class Replay:
    """Plays steps in one conversation; the bodies are what arrived at the backend's socket."""

    def __init__(self, database_url: str, backend_url: str, backend: ScriptedBackend) -> None:
        self._settings = settings_for(database_url, backend_url)
        self._backend = backend
        self._clock = MovingClock()
        self._stack = AsyncExitStack()
        self._restarts = 0

    async def play(self, system_prompt: str, steps: list[tuple[object, ...]]) -> list[bytes]:
        async with self._stack:
            house = await self._open()
            owner = await add_user(house.database, time_zone="Asia/Tokyo")
            conversation: UUID | None = None
            for kind, *values in steps:
                if kind == "move":
                    self._clock.now += timedelta(seconds=values[0])  # type: ignore[arg-type]
                elif kind == "restart":
                    await self._stack.aclose()
                    house = await self._open()
                else:
                    text, script, zone = values
                    self._backend.script(*script)  # type: ignore[misc]
                    prompt = system_prompt if conversation is None else None
                    sent = await ask(
                        house,
                        owner,
                        text,
                        conversation,
                        time_zone=zone,
                        system_prompt=prompt,  # type: ignore[arg-type]
                    )
                    conversation = sent.conversation_id
        return [request.body for request in self._backend.questions]

    async def _open(self) -> House:
        self._restarts += 1
        set_server_zone(["UTC", "Asia/Kolkata", "America/New_York"][self._restarts % 3])
        opened = open_house(self._settings, clock=self._clock, rhythm=QUICK)
        return await self._stack.enter_async_context(opened)


def shared(body: bytes) -> bytes:
    """The body up to the end of its last message's text."""
    return body[: body.rindex(b'"}],"metadata"')]


# No shrinking: the examples are small, and each one opens several houses.
@settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(system_prompt=st.sampled_from(["", "Be nice.\r\n{date}"]), steps=steps)
def test_each_request_begins_with_the_one_before(
    system_prompt: str,
    steps: list[tuple[object, ...]],
    sqlite_factory: SqliteFactory,
    postgres_factory: PostgresFactory,
    stage: tuple[Stage, str],
    server_zone: None,
) -> None:
    sent: list[list[bytes]] = []
    for factory in (sqlite_factory, postgres_factory):
        backend = stage[0].backend = ScriptedBackend()
        url = factory.migrated()
        sent.append(anyio.run(Replay(url, stage[1], backend).play, system_prompt, steps))
        factory.recycle(url)
    for bodies in sent:
        for earlier, later in itertools.pairwise(bodies):
            assert later.startswith(shared(earlier))
    assert [shared(body) for body in sent[0]] == [shared(body) for body in sent[1]]
    assert len(sent[0]) == sum(step[0] == "ask" for step in steps)


@pytest.mark.anyio
async def test_midnight_moves_nothing_but_the_newest_message(
    house: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend
) -> None:
    clock.now = datetime(2026, 11, 29, 14, 59, 30, tzinfo=UTC)  # Half a minute before midnight in Seoul.
    system_prompt = "Today is {date}, {{ current_date }}, %Y-%m-%d. Be nice."
    sent = await ask(house, anna, "One", system_prompt=system_prompt, time_zone="Asia/Seoul")
    clock.advance(minutes=1)
    await ask(house, anna, "Two", sent.conversation_id, time_zone="Asia/Seoul")
    earlier, later = (request.json() for request in backend.questions)
    assert earlier["system"] == later["system"] == system_prompt
    assert later["messages"][:1] == earlier["messages"]
    assert "Sunday 2026-11-29 23:59 +09:00" in earlier["messages"][0]["content"]
    assert "Monday 2026-11-30 00:00 +09:00" in later["messages"][-1]["content"]
    assert backend.questions[1].body.count(b"2026-11-30") == 1


def test_the_comparison_sees_a_changed_byte() -> None:
    body = b'{"messages":[{"role":"user","content":"Hello\\n12:00"}],"metadata":{},"stream":true}'
    assert not body.replace(b"12:00", b"12:01").startswith(shared(body))
