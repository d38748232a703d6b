"""A turn that another model answers than its base turn: what it computes again is on purpose."""

from uuid import UUID

import pytest

from app.conversations import TurnFigures
from app.conversations.choices import Choice
from app.conversations.params import Params
from app.house import House
from tests.app.houses import ask
from tests.scripted_backend import MODELS, ScriptedBackend, error_reply

pytestmark = pytest.mark.anyio


async def choose(house: House, owner: UUID, conversation_id: UUID, model: str | None) -> None:
    await house.choices.choose(owner, conversation_id, Choice(model, Params()), ["scripted", "second"])


async def figures(house: House, conversation_id: UUID) -> list[TurnFigures]:
    return [row.figures for row in (await house.reports.conversation(conversation_id)).turns]


async def test_the_turn_after_another_model_was_chosen_says_so(house: House, anna: UUID) -> None:
    """To name the model that answers without a choice is no change."""
    sent = await ask(house, anna, "One")
    for model in ("scripted", "second", "second"):
        await choose(house, anna, sent.conversation_id, model)
        await ask(house, anna, "Next", sent.conversation_id)
    outcomes = [turn.outcome for turn in await figures(house, sent.conversation_id)]
    assert outcomes == ["first_turn", "hit", "model_switched", "hit"]


async def test_another_first_model_of_the_backend_is_a_change_too(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "One")
    backend.models[0]["id"] = "renamed"
    backend.script(error_reply(404, "not_found_error"))
    await ask(house, anna, "Two", sent.conversation_id)
    backend.wait_for(lambda: len(backend.questions) == 2)
    await ask(house, anna, "Three", sent.conversation_id)
    assert sum(request.path == MODELS for request in backend.requests) == 2
    assert [turn.outcome for turn in await figures(house, sent.conversation_id)][1:] == [
        "not_reported",
        "model_switched",
    ]


async def test_another_model_goes_before_a_changed_system_prompt(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "One")
    await choose(house, anna, sent.conversation_id, "second")
    await house.conversations.set_system_prompt(anna, sent.conversation_id, "Be brief.")
    await ask(house, anna, "Two", sent.conversation_id)
    assert (await figures(house, sent.conversation_id))[-1].outcome == "model_switched"
