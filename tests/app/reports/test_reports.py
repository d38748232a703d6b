from dataclasses import asdict
from uuid import UUID, uuid4

import pytest

from app.errors import NotFound
from app.house import House
from tests.app.houses import MovingClock, add_user, ask
from tests.scripted_backend import ScriptedBackend, answer, error_reply

pytestmark = pytest.mark.anyio


async def test_conversation_shows_each_turn_with_its_figures(
    house: House, anna: UUID, clock: MovingClock, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "One")
    clock.advance(minutes=5)
    await ask(house, anna, "Two", sent.conversation_id)
    backend.script(error_reply(400, "invalid_request_error"))
    await ask(house, anna, "Three", sent.conversation_id)
    report = await house.reports.conversation(sent.conversation_id)
    assert (report.owner_name, report.model) == ("Anna", "scripted")
    assert [row.number for row in report.turns] == [1, 2, 3]
    assert [row.idle_before_s for row in report.turns] == [None, 300, 0]
    assert [row.base_turn_number for row in report.turns] == [None, 1, 2]
    assert [row.figures.status for row in report.turns] == ["completed", "completed", "failed"]
    first, second, third = report.turns
    assert first.figures.prompt_tokens is not None
    assert first.figures.output_tokens is not None
    assert first.kv_tokens_at_end == first.figures.prompt_tokens + first.figures.output_tokens - 1
    assert second.figures.computed_tokens is not None
    assert third.kv_tokens_at_end is None
    assert await house.reports.conversation(report.reference) == report


async def test_reports_have_no_text(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "Secret question", system_prompt="Secret rules")
    report = await house.reports.conversation(sent.conversation_id)
    rows = await house.reports.conversations()
    shown = str([asdict(report), *map(asdict, rows)])
    assert "Secret" not in shown
    assert "answer number" not in shown


@pytest.mark.parametrize("missing", [uuid4(), "abcdefgh"])
async def test_unknown_conversations_are_not_found(house: House, missing: UUID | str) -> None:
    with pytest.raises(NotFound):
        await house.reports.conversation(missing)


async def test_conversations_sum_what_was_reported_page_by_page(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    usage = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 19}
    backend.script(*answer("x", usage=usage))
    first = await ask(house, anna, "One")
    backend.script(*answer("x", usage={"input_tokens": 5}))
    await ask(house, anna, "Two", first.conversation_id)
    second = await ask(house, await add_user(house.database, "Berta"), "Other")
    (newest,) = await house.reports.conversations(limit=1)
    (oldest,) = await house.reports.conversations(limit=5, before=newest.id)
    assert (newest.id, newest.owner_name) == (second.conversation_id, "Berta")
    assert (oldest.id, oldest.owner_name) == (first.conversation_id, "Anna")
    assert (oldest.turns, oldest.reported_turns) == (2, 1)
    assert (oldest.prompt_tokens, oldest.cached_tokens) == (27, 19)
    assert await house.reports.conversations(before=oldest.id) == []


async def test_conversations_come_by_last_activity_and_pages_neither_lose_nor_repeat(
    house: House, anna: UUID, clock: MovingClock
) -> None:
    sent = [await ask(house, anna, text) for text in ("a", "b", "c", "d")]
    clock.advance(minutes=1)
    await ask(house, anna, "more", sent[1].conversation_id)
    await ask(house, anna, "more", sent[0].conversation_id)
    order = [sent[number].conversation_id for number in (1, 0, 3, 2)]
    assert [row.id for row in await house.reports.conversations()] == order
    pages = []
    before = before_at = None
    while rows := await house.reports.conversations(limit=1, before=before, before_at=before_at):
        pages.append(rows[0].id)
        before, before_at = rows[0].id, rows[0].updated_at
        clock.advance(minutes=1)
        await ask(house, anna, "and on", rows[0].id)
    assert pages == order
    alone = await house.reports.conversations(before=order[0])
    assert [row.id for row in alone] == []
