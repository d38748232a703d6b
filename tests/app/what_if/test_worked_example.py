"""The worked example through the app: asked turn by turn, then tried in other ways by the same server's comparison."""

import re
from array import array
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import update

from app.conversations.choices import Choice
from app.conversations.params import Params
from app.house import House, open_house
from app.instance_secret import instance_secret
from app.models import User
from app.settings import Backend
from app.turns.backends import Backends
from app.what_if import ConversationWhatIf, Read, WhatIfs
from app.what_if.variants import clock_at_the_end
from tests.app.houses import QUICK, MovingClock, add_user, ask, settings_for
from tests.inference_server.serving import KEY, Served
from tests.inference_server.worked_example import EXAMPLE, TableTokenizer, serve_worked_example

pytestmark = pytest.mark.anyio

NOTE = re.compile(r"(\s*<context-note>.*?</context-note>)")


class NoteTokenizer(TableTokenizer):
    """Each note of the app is one token, of which the example's model knows nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: list[str] = []

    def encode_content(self, text: str) -> "array[int]":
        tokens = array("i")
        for part in NOTE.split(text):
            tokens.extend([self._note(part)] if NOTE.fullmatch(part) else super().encode_content(part))
        return tokens

    encode_template = encode_content

    def token_bytes(self, token: int) -> bytes:
        return self._notes[token - 1000].encode() if token >= 1000 else super().token_bytes(token)

    def text(self, tokens: Iterable[int]) -> str:
        return "".join(self.token_bytes(token).decode() for token in tokens)

    def _note(self, text: str) -> int:
        if text not in self._notes:
            self._notes.append(text)
        return 1000 + self._notes.index(text)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serve_worked_example(NoteTokenizer()) as served:
        yield served


@pytest.fixture
def table(server: Served) -> Backend:
    return Backend(name="table", base_url=server.url, api_key=KEY, inspection=True, early_message_start=True)


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock(datetime(2026, 11, 30, 14, 3, tzinfo=UTC))


@pytest.fixture
async def house(database_url: str, table: Backend, clock: MovingClock) -> AsyncIterator[House]:
    async with open_house(
        settings_for(database_url, table.base_url, backends=(table,)), clock=clock, rhythm=QUICK
    ) as h:
        yield h


async def talk(house: House, clock: MovingClock, *, notes: bool) -> UUID:
    """The example's four questions; the last one two minutes later."""
    owner = await add_user(house.database)
    async with house.database.write() as session:
        await session.execute(update(User).values(context_notes=notes))
    conversation_id = None
    for turn in EXAMPLE["turns"]:
        if turn["max_tokens"] == 8:
            assert conversation_id is not None
            clock.advance(minutes=2)
            await house.choices.choose(owner, conversation_id, Choice("table", Params(max_tokens=8)), {"table"})
        sent = await ask(house, owner, turn["user"], conversation_id, system_prompt=EXAMPLE["system"])
        conversation_id = sent.conversation_id
    assert conversation_id is not None
    return conversation_id


async def tried(
    house: House, table: Backend, clock: MovingClock, conversation_id: UUID, **how: object
) -> ConversationWhatIf:
    backends = Backends([table])
    secret = await instance_secret(house.database)
    what_ifs = WhatIfs(house.database, house.reports, backends, clock, secret, **how)
    found = await what_ifs.of_conversation(conversation_id)
    await backends.close()
    return found


def bare_clock(system_prompt: str, at: datetime, zone: str | None) -> str:
    """As the example's tokenizer has it: five tokens."""
    return f"{system_prompt} 현재 시각 {at:%H:%M}"


async def test_the_clock_in_the_system_prompt_and_blocks_give_the_figures_of_the_example(
    house: House, table: Backend, clock: MovingClock
) -> None:
    conversation_id = await talk(house, clock, notes=False)
    found = await tried(house, table, clock, conversation_id, clock_written=bare_clock)
    expected = [(turn["input_total"], turn["cache_read"], turn["computed"]) for turn in EXAMPLE["turns"]]
    assert [(t.real.prompt, t.real.cached, t.real.computed) for t in found.turns if t.real] == expected
    in_blocks = [turn["cache_read_with_16_token_blocks"] for turn in EXAMPLE["turns"]]
    assert [turn.blocks.cached for turn in found.turns if turn.blocks] == in_blocks == [0, 16, 16, 32]
    clocked = [(turn.clock.prompt, turn.clock.cached, turn.clock.computed) for turn in found.turns if turn.clock]
    assert clocked == [(21, 0, 21), (32, 24, 8), (45, 35, 10), (59, 11, 48)]
    variant = EXAMPLE["time_in_system"]
    assert clocked[3] == (variant["input_total"], variant["cache_read"], variant["computed"])
    assert [turn.clock.lost for turn in found.turns if turn.clock] == [0, 0, 0, 51 - 11]
    assert [turn.real.lost for turn in found.turns if turn.real] == [0, 0, 0, 0]
    assert (found.clock.computed, found.real.computed, found.blocks.computed) == (87, 42, 73)


async def test_the_time_in_the_newest_message_loses_nothing(
    house: House, table: Backend, clock: MovingClock, server: Served
) -> None:
    """Each note is one token. In the system prompt it is the eighth, and all behind it is lost when it changes."""
    resident = server.scheduler.tree.num_resident
    conversation_id = await talk(house, clock, notes=True)
    resident_after = server.scheduler.tree.num_resident
    found = await tried(house, table, clock, conversation_id, clock_written=clock_at_the_end)
    assert found.turns[3].real == Read(58, 49, 0)
    assert (found.real.lost, found.real.turns) == (0, 4)
    assert found.turns[3].clock == Read(55, 7, 40)
    assert (found.clock.lost, found.clock.turns) == (40, 4)
    assert server.scheduler.tree.num_resident == resident_after > resident  # Nothing was run for it.
