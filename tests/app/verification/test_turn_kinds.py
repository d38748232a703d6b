"""Turns of every kind are built again from what the tree holds, and cut where the one before them was cut."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from sqlalchemy import select

from app.errors import InvalidInput
from app.house import House, open_house
from app.models import Turn
from app.settings import Backend
from tests.app.houses import QUICK, MovingClock, ask, settings_for
from tests.app.turns.test_kinds import press
from tests.app.verification.test_verification import lines, verified
from tests.scripted_backend import ScriptedBackend, answer, error_reply

pytestmark = pytest.mark.anyio

WINDOW = 2000


@pytest.fixture
async def house(database_url: str, backend_url: str, clock: MovingClock) -> AsyncIterator[House]:
    """Its backend has a window of 2,000 tokens, of which an answer may take 200."""
    backend = Backend(
        name="scripted", base_url=backend_url, early_message_start=True, prefill=True, context_window=WINDOW
    )
    settings = settings_for(database_url, backend_url, backends=(backend,), answer_tokens=200)
    async with open_house(settings, clock=clock, rhythm=QUICK) as house:
        yield house


async def turns_of(house: House) -> list[Turn]:
    async with house.database.read() as session:
        return list(await session.scalars(select(Turn).order_by(Turn.id)))


async def test_every_kind_of_turn_can_be_built_again(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    backend.script(*answer("Once ", "upon ", stop_reason="max_tokens"))
    first = await ask(house, anna, "Tell me")
    conversation = first.conversation_id
    for more in ("a time ", "there"):
        backend.script(*answer(more, stop_reason="max_tokens"))
        await press(house, anna, "continue", conversation, first.assistant_message_id)
    second = await ask(house, anna, "And then?", conversation)
    backend.script(*answer("Another"))
    await press(house, anna, "regenerate", conversation, second.assistant_message_id)
    edited = await press(house, anna, "edit", conversation, second.user_message_id, "What then?")
    backend.script(error_reply(400, "invalid_request_error"))
    failed = await ask(house, anna, "Fails", conversation)
    await press(house, anna, "retry", conversation, failed.assistant_message_id)
    await press(house, anna, "edit", conversation, first.user_message_id, "Tell us")
    findings = await verified(house.database)
    assert (lines(findings), findings.matching) == ([], 9)
    assert {turn.kind for turn in await turns_of(house)} == {"question", "continue", "regenerate", "edit", "retry"}
    await house.branches.delete(anna, conversation, edited.user_message_id)
    assert lines(await verified(house.database)) == []
    await house.branches.delete(anna, conversation, first.assistant_message_id)
    findings = await verified(house.database)
    assert lines(findings) == []
    assert findings.deleted >= 2


async def test_another_answer_begins_where_the_first_one_did(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "one " * 800)
    for words in (700, 600):
        last = await ask(house, anna, "word " * words, sent.conversation_id)
    await press(house, anna, "regenerate", sent.conversation_id, last.assistant_message_id)
    *_, cut, again = await turns_of(house)
    assert cut.outcome == "history_trimmed"
    assert (again.outcome, again.history_start_message_id) == ("hit", cut.history_start_message_id)
    assert backend.questions[-1].json()["messages"] == backend.questions[-2].json()["messages"]
    assert (await verified(house.database)).matching == 4


async def test_an_edited_question_is_cut_or_refused_as_a_new_one(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "one " * 800)
    last = await ask(house, anna, "two", sent.conversation_id)
    with pytest.raises(InvalidInput, match=r"this needs 2,\d\d\d tokens; at most 1,800 fit"):
        await press(house, anna, "edit", sent.conversation_id, last.user_message_id, "two " * 2100)
    edited = await press(house, anna, "edit", sent.conversation_id, last.user_message_id, "two " * 1200)
    turn = (await turns_of(house))[-1]
    assert (turn.outcome, turn.history_start_message_id) == ("history_trimmed", edited.user_message_id)
    assert len(backend.questions[-1].json()["messages"]) == 1
    assert (await verified(house.database)).matching == 3


async def test_a_failed_cut_is_made_again_by_retry(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    sent = await ask(house, anna, "one " * 800)
    backend.script(error_reply(400, "invalid_request_error"))
    failed = await ask(house, anna, "two " * 1200, sent.conversation_id)
    await press(house, anna, "retry", sent.conversation_id, failed.assistant_message_id)
    *_, first, second = await turns_of(house)
    assert first.history_start_message_id == second.history_start_message_id == failed.user_message_id
    assert second.status == "completed"
