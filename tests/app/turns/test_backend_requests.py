"""What the app asks of a backend: the turns, and beside them only whether it is there."""

from datetime import timedelta
from uuid import UUID

import pytest

from app.house import House
from app.reports.overview import Selection
from tests.app.houses import ask
from tests.scripted_backend import HEALTH, MESSAGES, MODELS, ScriptedBackend

pytestmark = pytest.mark.anyio


async def test_each_turn_is_one_request_and_a_title_costs_none(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "A question whose first words are the title")
    await ask(house, anna, "Another", sent.conversation_id)
    view = await house.conversations.view(anna, sent.conversation_id)
    assert view.title == "A question whose first words are the title"
    await house.conversations.rename(anna, sent.conversation_id, "Renamed")
    await house.conversations.list(anna)
    asked = [request.path for request in backend.requests if request.path != HEALTH]
    assert asked == [MODELS, MESSAGES, MESSAGES]
    first, second = (await house.reports.conversation(sent.conversation_id)).turns
    assert second.figures.cached_tokens == first.kv_tokens_at_end
    ranked = await house.overviews.ranking(Selection(None, house.clock() + timedelta(seconds=1)))
    assert [row.turns for row in ranked.rows] == [2]
