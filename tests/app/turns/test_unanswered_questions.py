"""One fixed rule for empty, failed and unanswered turns: the same bytes on every later rebuild."""

from uuid import UUID

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from app.house import House, open_house
from app.instance_secret import instance_secret
from app.models import Turn
from app.settings import Backend
from app.verification import Findings, Verification
from tests.app.conftest import Stage
from tests.app.databases import PostgresFactory, SqliteFactory
from tests.app.houses import QUICK, MovingClock, add_user, ask, settings_for
from tests.scripted_backend import (
    CUT,
    ScriptedBackend,
    Step,
    answer,
    delta,
    error_event,
    error_reply,
    message_start,
)

ENDS: dict[str, list[Step]] = {
    "refused": [error_reply(400, "invalid_request_error", "SECRET WORDS")],
    "error_event": [message_start(), error_event("overloaded_error", "SECRET WORDS")],
    "no_reason": [message_start()],
    "lost": [message_start(), CUT],
    "empty": answer(),
    "blank": answer(" ", "\n"),
}
WINDOW = 1400


async def verified(house: House) -> Findings:
    total = Findings()
    async for findings in Verification(house.database, await instance_secret(house.database)).conversations():
        total.add(findings)
    return total


@pytest.mark.anyio
@pytest.mark.parametrize("end", ENDS)
async def test_a_question_without_an_answer_is_joined_to_the_next_one(
    house: House, anna: UUID, backend: ScriptedBackend, end: str
) -> None:
    sent = await ask(house, anna, "One")
    backend.script(*ENDS[end])
    await ask(house, anna, "Two", sent.conversation_id)
    await ask(house, anna, "Three", sent.conversation_id)
    await ask(house, anna, "Four", sent.conversation_id)
    bodies = [request.json()["messages"] for request in backend.questions]
    assert [len(body) for body in bodies] == [1, 3, 3, 5]
    assert bodies[2][2]["content"].startswith(f"{bodies[1][2]['content']}\n\nThree\n\n<context-note>")
    assert bodies[3][:3] == bodies[2]
    for body in bodies:
        assert [message["role"] for message in body] == (["user", "assistant"] * 3)[: len(body)]
        assert all("SECRET" not in message["content"] for message in body)
        assert all("model server" not in message["content"] for message in body)
    rows = (await house.reports.conversation(sent.conversation_id)).turns
    assert len(rows) == 4
    assert (rows[1].figures.status == "completed") == (end in ("empty", "blank"))
    assert (await verified(house)).matching == 4


@pytest.mark.anyio
async def test_a_first_question_without_an_answer_is_joined_too(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(*ENDS["refused"])
    sent = await ask(house, anna, "One", system_prompt="Be nice.")
    await ask(house, anna, "Two", sent.conversation_id)
    (message,) = backend.questions[-1].json()["messages"]
    assert message["content"].count("<context-note>") == 2
    assert message["content"].startswith("One\n\n<context-note>")


@pytest.mark.anyio
async def test_half_an_answer_is_sent_as_it_is_stored(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    backend.script(message_start(), delta(" half \n"), error_event("overloaded_error", "SECRET WORDS"))
    sent = await ask(house, anna, "One")
    await ask(house, anna, "Two", sent.conversation_id)
    assert backend.questions[-1].json()["messages"][1] == {"role": "assistant", "content": " half \n"}


questions = st.tuples(
    st.integers(1, 300), st.sampled_from(["answered", *ENDS]), st.sampled_from([None, "Asia/Seoul", "America/New_York"])
)


# No shrinking: each example opens a house on both databases.
@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(asks=st.lists(questions, min_size=6, max_size=12))
def test_every_turn_of_any_history_is_rebuilt_to_the_byte(
    asks: list[tuple[int, str, str | None]],
    sqlite_factory: SqliteFactory,
    postgres_factory: PostgresFactory,
    stage: tuple[Stage, str],
) -> None:
    """With answers of every end and with cuts: what repeats repeats exactly, what is cut begins with a question."""
    for factory in (sqlite_factory, postgres_factory):
        stage[0].backend = ScriptedBackend()
        url = factory.migrated()
        anyio.run(play, url, stage[1], stage[0].backend, asks)
        factory.recycle(url)


async def play(
    database_url: str, backend_url: str, backend: ScriptedBackend, asks: list[tuple[int, str, str | None]]
) -> None:
    served = Backend(name="scripted", base_url=backend_url, early_message_start=True, context_window=WINDOW)
    changes = {"backends": (served,), "answer_tokens": 100}
    async with open_house(
        settings_for(database_url, backend_url, **changes), clock=MovingClock(), rhythm=QUICK
    ) as house:
        owner = await add_user(house.database)
        conversation: UUID | None = None
        for words, end, zone in asks:
            if end in ENDS:
                backend.script(*ENDS[end])
            sent = await ask(house, owner, "word " * words, conversation, time_zone=zone)
            conversation = sent.conversation_id
        findings = await verified(house)
        assert (findings.problems, findings.matching) == ([], len(asks))
        async with house.database.read() as session:
            turns = list(await session.scalars(select(Turn).order_by(Turn.id)))
    bodies = [request.json()["messages"] for request in backend.questions]
    for before, turn, earlier, later in zip(turns, turns[1:], bodies, bodies[1:], strict=False):
        assert [message["role"] for message in later] == (["user", "assistant"] * len(later))[: len(later)]
        if turn.history_start_message_id == before.history_start_message_id:
            assert later[: len(earlier) - 1] == earlier[:-1]
            assert later[len(earlier) - 1]["content"].startswith(earlier[-1]["content"])
