"""Model and parameters of a conversation: what may be typed, what is stored, what is sent."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from app.conversations.choices import Choice
from app.conversations.param_fields import read_params, shown_params
from app.conversations.params import MOST_STOPS, Params
from app.errors import InvalidInput, NotFound
from app.house import House
from app.models import Conversation, Turn, User
from app.turns.backends import Backends
from app.turns.offered_models import OfferedModels
from app.turns.rhythm import Rhythm
from tests.app.houses import add_user, ask
from tests.scripted_backend import MODELS, Gate, ScriptedBackend, error_reply


@pytest.mark.anyio
async def test_what_is_chosen_is_sent_in_a_fixed_place_and_recorded(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "One", system_prompt="Be nice")
    params = Params(stop_sequences=["끝", "END"], top_p=0.9, temperature=0, max_tokens=7)
    await house.choices.choose(anna, sent.conversation_id, Choice("scripted", params), ["scripted"])
    await ask(house, anna, "Two", sent.conversation_id)
    await house.choices.choose(anna, sent.conversation_id, Choice(None, Params()), [])
    await ask(house, anna, "Three", sent.conversation_id)
    bodies = [request.json() for request in backend.questions]
    usual = ["model", "max_tokens", "system", "messages", "metadata", "stream"]
    chosen = ["model", "max_tokens", "temperature", "top_p", "stop_sequences", *usual[2:]]
    assert [list(body) for body in bodies] == [usual, chosen, usual]
    assert [bodies[1][name] for name in chosen[1:5]] == [7, 0.0, 0.9, ["끝", "END"]]
    async with house.database.read() as session:
        turns = [json.loads(row) for row in await session.scalars(select(Turn.params).order_by(Turn.id))]
    assert turns[0] == turns[2] == {"max_tokens": 1024}
    assert turns[1] == {"max_tokens": 7, "temperature": 0.0, "top_p": 0.9, "stop_sequences": ["끝", "END"]}


@pytest.mark.anyio
async def test_params_are_stored_as_canonical_json_and_read_back(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    choice = Choice("scripted", Params(top_p=1, temperature=0.7))
    await house.choices.choose(anna, sent.conversation_id, choice, ["scripted"])
    assert await house.choices.of(anna, sent.conversation_id) == choice
    async with house.database.read() as session:
        stored = (await session.get_one(Conversation, sent.conversation_id)).params
    assert stored == '{"temperature":0.7,"top_p":1.0}'


@pytest.mark.anyio
async def test_a_model_must_be_offered_or_chosen_already(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    with pytest.raises(InvalidInput) as caught:
        await house.choices.choose(anna, sent.conversation_id, Choice("gone", Params()), ["scripted"])
    assert caught.value.field == "model"
    await house.choices.choose(anna, sent.conversation_id, Choice("gone", Params()), ["gone"])
    await house.choices.choose(anna, sent.conversation_id, Choice("gone", Params(top_p=0.5)), [])
    for owner, conversation_id in ((await add_user(house.database, "Berta"), sent.conversation_id), (anna, uuid4())):
        with pytest.raises(NotFound):
            await house.choices.of(owner, conversation_id)
        with pytest.raises(NotFound):
            await house.choices.choose(owner, conversation_id, Choice(None, Params()), [])


@dataclass
class Offer:
    """What the backend of a house offers, and how late it is."""

    backends: Backends
    backend: ScriptedBackend
    rhythm: Rhythm
    now: float = 100.0
    models: OfferedModels = field(init=False)

    def __post_init__(self) -> None:
        self.models = OfferedModels(self.backends, self.rhythm, monotonic=lambda: self.now)

    async def ids(self) -> list[str]:
        return [model.id for model in await self.models.list()]

    @property
    def questions(self) -> int:
        return sum(request.path == MODELS for request in self.backend.requests)


@pytest.fixture
async def offer(house: House, backend: ScriptedBackend, rhythm: Rhythm) -> AsyncIterator[Offer]:
    backends = Backends(house.settings.resolved_backends())
    yield Offer(backends, backend, rhythm)
    await backends.close()


@pytest.mark.anyio
@pytest.mark.parametrize("rhythm", [Rhythm(list_patience=10)])
async def test_offered_models_are_asked_for_once_in_a_while_and_kept_while_the_backend_is_away(offer: Offer) -> None:
    offer.backend.models.append({"type": "model", "id": "second", "display_name": "Second"})
    assert [(model.id, model.name) for model in await offer.models.list()] == [
        ("scripted", "Scripted"),
        ("second", "Second"),
    ]
    offer.backend.models.pop()
    assert await offer.ids() == ["scripted", "second"]
    offer.now += 60
    offer.backend.script(error_reply(401, "authentication_error"), path=MODELS)
    assert await offer.ids() == ["scripted", "second"]
    offer.now += 4.9
    assert (await offer.ids(), offer.questions) == (["scripted", "second"], 2)
    offer.now += 0.1
    assert (await offer.ids(), offer.questions) == (["scripted"], 3)


@pytest.mark.anyio
@pytest.mark.parametrize("rhythm", [Rhythm()])
async def test_a_backend_that_is_silent_about_its_models_is_left_alone_for_a_while(offer: Offer) -> None:
    gate = Gate()
    offer.backend.script(gate, path=MODELS)
    found: list[list[str]] = []

    async def look() -> None:
        found.append(await offer.ids())

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(look)
    assert (found, offer.questions) == ([[]] * 5, 1)
    assert (await offer.ids(), offer.questions) == ([], 1)
    offer.now += 5
    assert (await offer.ids(), offer.questions) == (["scripted"], 2)
    gate.open()


@pytest.mark.anyio
async def test_a_new_conversation_begins_with_the_owners_default_else_the_instances(house: House, anna: UUID) -> None:
    assert await house.choices.first_system_prompt(anna) == ""
    choices = type(house.choices)(house.database, default_system_prompt="Of the house")
    assert await choices.first_system_prompt(anna) == "Of the house"
    for own in ("Mine", ""):
        async with house.database.write() as session:
            (await session.get_one(User, anna)).default_system_prompt = own
        assert await choices.first_system_prompt(anna) == own


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        *[("temperature", typed) for typed in ("2.01", "-1", "nan", "inf", "1e1", "warm", "٣", "1,2,3")],
        *[("top_p", typed) for typed in ("0", "1.1", "x", "0.0")],
        *[("max_tokens", typed) for typed in ("0", "1.5", "-3", "1000001", "9" * 400)],
        ("stop_sequences", "\n".join(map(str, range(MOST_STOPS + 1)))),
        ("stop_sequences", "x" * 101),
    ],
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_field(field: str, typed: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_params({field: typed})
    assert caught.value.field == field


def test_fields_are_read_leniently_where_that_is_safe() -> None:
    typed = {"temperature": " 0,5 ", "top_p": "", "max_tokens": "12", "stop_sequences": "a\r\n\r\n b \na"}
    assert read_params(typed) == Params(temperature=0.5, max_tokens=12, stop_sequences=["a", " b "])
    assert read_params({}) == Params()
    assert Params().canonical() == "{}"


@given(
    st.builds(
        Params,
        max_tokens=st.none() | st.integers(1, 1_000_000),
        temperature=st.none() | st.integers(0, 200).map(lambda hundredths: hundredths / 100),
        top_p=st.none() | st.integers(1, 100).map(lambda hundredths: hundredths / 100),
        stop_sequences=st.none()
        | st.lists(st.text("ab 끝", min_size=1, max_size=9), min_size=1, max_size=8, unique=True),
    )
)
def test_params_survive_the_form_and_the_store(params: Params) -> None:
    assert read_params(shown_params(params)) == params
    assert Params.parse(params.canonical()) == params
