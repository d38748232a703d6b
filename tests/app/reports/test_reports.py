from dataclasses import asdict
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from app.errors import NotFound
from app.house import House
from app.reports.overview import Selection
from tests.app.houses import MovingClock, ask
from tests.scripted_backend import ScriptedBackend, error_reply

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
    ranked = await house.overviews.ranking(Selection(None, house.clock() + timedelta(seconds=1)))
    assert len(ranked.rows) == 1
    shown = str([asdict(report), asdict(ranked)])
    assert "Secret" not in shown
    assert "answer number" not in shown


@pytest.mark.parametrize("missing", [uuid4(), "abcdefgh"])
async def test_unknown_conversations_are_not_found(house: House, missing: UUID | str) -> None:
    with pytest.raises(NotFound):
        await house.reports.conversation(missing)
