"""Outcomes that the bundled server explains: API, cache and engine are the real ones, only the model is a script."""

import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from uuid import UUID

import anyio
import pytest
from sqlalchemy import update

from app.cache_outcomes import Outcome
from app.conversations import TurnFigures
from app.conversations.choices import Choice
from app.conversations.params import Params
from app.house import House, open_house
from app.models import Message
from app.settings import Backend
from inference_server.api.generation import ServedModel
from inference_server.bundled_model import bundled_model
from inference_server.gguf_file import GgufFile
from inference_server.model_runner import BatchItem
from inference_server.text.chat_template import ChatTemplate
from inference_server.text.tokenizer import TextTokenizer
from tests.app.databases import SqliteFactory
from tests.app.houses import QUICK, add_user, ask, question, settings_for
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import END_ID, Script, serve_scripted
from tests.inference_server.serving import KEY, Served, serve_runner, until
from tests.tiny_model import CHAT_TEMPLATE

pytestmark = pytest.mark.anyio

Serve = Callable[..., AbstractContextManager[Served]]
NUMBERED = CHAT_TEMPLATE.replace("{% for", "{{ '[' ~ messages | length ~ ']' }}{% for", 1)


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer(GgufFile.open(bundled_model()).metadata)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def serve(tokenizer: TextTokenizer, script: Script) -> Serve:
    """`slots` is the pool, in tokens."""

    def start(slots: int = 4096, **settings: object) -> AbstractContextManager[Served]:
        return serve_scripted(tokenizer, OracleRunner(slots, script), **settings)

    return start


class Chat:
    """One conversation in a house."""

    def __init__(self, house: House, owner: UUID, script: Script, tokenizer: TextTokenizer) -> None:
        self.house, self.owner = house, owner
        self._script, self._tokenizer = script, tokenizer
        self.id: UUID | None = None

    async def ask(self, text: str, **changes: object) -> TurnFigures:
        return await self.say(list(self._tokenizer.encode_content("Yes, it is so.")), text, **changes)

    async def say(self, tokens: list[int], text: str, **changes: object) -> TurnFigures:
        """The question, to which the model says these tokens."""
        self._script.say(tokens)
        sent = await ask(self.house, self.owner, text, self.id, **changes)
        self.id = sent.conversation_id
        return (await self.turns())[-1]

    async def turns(self) -> list[TurnFigures]:
        assert self.id is not None
        return [row.figures for row in (await self.house.reports.conversation(self.id)).turns]

    def other(self) -> "Chat":
        return Chat(self.house, self.owner, self._script, self._tokenizer)


class Chats:
    def __init__(self, url: str, script: Script, tokenizer: TextTokenizer) -> None:
        self._url, self._script, self._tokenizer = url, script, tokenizer
        self._owner: UUID | None = None

    async def run(
        self, server_url: str, steps: Callable[[Chat], Awaitable[None]], chat_id: UUID | None = None, **changes: object
    ) -> None:
        """The steps of a conversation in a house whose backend is there."""
        backend = Backend(
            name="bundled",
            base_url=server_url,
            api_key=KEY,
            early_message_start=True,
            prefill=True,
            diagnostics=True,
            forgets=True,
        )
        settings = settings_for(self._url, server_url, **{"backends": (backend,), **changes})
        async with open_house(settings, rhythm=QUICK) as house:
            self._owner = self._owner or await add_user(house.database)
            chat = Chat(house, self._owner, self._script, self._tokenizer)
            chat.id = chat_id
            await steps(chat)


@pytest.fixture
def chats(sqlite_factory: SqliteFactory, script: Script, tokenizer: TextTokenizer) -> Chats:
    return Chats(sqlite_factory.migrated(), script, tokenizer)


def named(turn: TurnFigures) -> tuple[str, bool | None]:
    return turn.outcome.value, turn.fault


async def test_turns_that_go_on_hit_and_the_server_promises_the_same(chats: Chats, serve: Serve) -> None:
    async def steps(chat: Chat) -> None:
        assert named(await chat.ask("How many legs has a spider?")) == ("first_turn", False)
        second = await chat.ask("And an ant?")
        assert (named(second), second.shortfall_tokens, second.law_mismatch) == (("hit", False), 0, False)
        assert second.serving_id is not None
        answer = (await chat.house.conversations.view(chat.owner, chat.id)).messages[-1]
        again = await chat.ask("", kind="regenerate", message_id=answer.id)
        assert (named(again), again.law_mismatch) == (("hit", False), False)

    with serve() as server:
        await chats.run(server.url, steps)


async def test_a_system_prompt_that_is_edited_each_turn_is_named(chats: Chats, serve: Serve) -> None:
    async def steps(chat: Chat) -> None:
        await chat.ask("One", system_prompt="Today is 2026-11-27.")
        outcomes = []
        for day in (28, 29, 30):
            await chat.house.conversations.set_system_prompt(chat.owner, chat.id, f"Today is 2026-11-{day}.")
            turn = await chat.ask("Next")
            outcomes.append(named(turn))
            assert (turn.diverged_where, turn.diverged_kind) == ("system", "date")
            assert turn.diverged_offset in (18, 17)
            assert turn.diverged_token is not None
            assert turn.law_mismatch is False
        assert outcomes == [("system_prompt_edited", False)] * 2 + [("volatile_system_prompt", True)]

    with serve() as server:
        await chats.run(server.url, steps)


async def test_a_pool_that_is_too_small_evicts(chats: Chats, serve: Serve) -> None:
    async def steps(chat: Chat) -> None:
        await chat.ask("How many legs has a spider?")
        await chat.other().ask("one two three " * 40)
        turn = await chat.ask("And an ant?")
        assert named(turn) == ("evicted", True)
        assert turn.shortfall_tokens

    with serve(220) as server:
        await chats.run(server.url, steps)


async def test_a_restart_is_named(chats: Chats, serve: Serve) -> None:
    seen: list[UUID] = []

    async def before(chat: Chat) -> None:
        await chat.ask("How many legs has a spider?")
        assert chat.id is not None
        seen.append(chat.id)

    async def after(chat: Chat) -> None:
        assert named(await chat.ask("And an ant?")) == ("restarted", True)
        assert named(await chat.ask("And a cat?")) == ("hit", False)

    with serve() as server:
        await chats.run(server.url, before)
        port = int(server.url.rpartition(":")[2])
    with serve(port=port) as server:
        await chats.run(server.url, after, seen[0])


async def test_a_message_that_was_changed_behind_our_back_is_named(chats: Chats, serve: Serve) -> None:
    async def steps(chat: Chat) -> None:
        await chat.ask("How many legs has a spider?")
        first = (await chat.house.conversations.view(chat.owner, chat.id)).messages[0]
        async with chat.house.database.write() as session:
            await session.execute(update(Message).where(Message.id == first.id).values(text="How many eyes has it?"))
        turn = await chat.ask("And an ant?")
        assert (named(turn), turn.diverged_where) == (("prefix_changed", True), "messages.0")

    with serve() as server:
        await chats.run(server.url, steps)


async def test_a_server_without_a_cache_is_named(chats: Chats, serve: Serve) -> None:
    async def steps(chat: Chat) -> None:
        await chat.ask("How many legs has a spider?")
        assert named(await chat.ask("And an ant?")) == ("caching_off", False)

    with serve(prefix_cache=False) as server:
        await chats.run(server.url, steps)


async def test_a_template_that_writes_otherwise_is_named(chats: Chats, serve: Serve) -> None:
    async def steps(chat: Chat) -> None:
        await chat.ask("How many legs has a spider?")
        assert named(await chat.ask("And an ant?")) == ("template_rewrote", True)

    with serve(template=NUMBERED, history="template") as server:
        await chats.run(server.url, steps)


async def test_forgotten_tokens_of_an_answer_are_named(chats: Chats, serve: Serve, tokenizer: TextTokenizer) -> None:
    """The model says a word in two tokens that text encodes as one."""

    async def steps(chat: Chat) -> None:
        newline = tokenizer.encode_content("\n")[0]
        word = tokenizer.encode_content("Eight")[0]
        await chat.say([word, newline, newline, newline, word], "How many legs has a spider?")
        await chat.other().ask("Something else, so that the first is forgotten")
        turn = await chat.ask("And an ant?")
        assert (named(turn), turn.diverged_where) == (("retokenized", True), "messages.1")

    with serve(transcript_bytes=0) as server:
        await chats.run(server.url, steps)


async def test_a_history_that_is_cut_is_named(chats: Chats, serve: Serve) -> None:
    async def steps(chat: Chat) -> None:
        turns = [await chat.ask(f"Number {number}. " + "one two three " * 100) for number in range(6)]
        cut = next(turn for turn in turns if turn.outcome is not Outcome.HIT and turn is not turns[0])
        assert (named(cut), cut.diverged_where) == (("history_trimmed", False), "messages.0")
        assert cut.history_start_message_id is not None
        assert cut.shortfall_tokens

    with serve(1500) as server:
        await chats.run(server.url, steps, answer_tokens=50)


async def test_another_model_is_named(chats: Chats, serve: Serve, tokenizer: TextTokenizer, script: Script) -> None:
    """The conversation goes to the other backend, because only that has it."""

    async def steps(chat: Chat) -> None:
        await chat.house.turns.learn_windows()
        await chat.ask("How many legs has a spider?", choice=Choice("scripted", Params()), offered=("scripted",))
        assert chat.id is not None
        await chat.house.choices.choose(chat.owner, chat.id, Choice("other", Params()), ["other"])
        turn = await chat.ask("And an ant?")
        assert (named(turn), turn.backend) == (("model_switched", False), "second")

    other = ServedModel("other", "Other", 4096, frozenset([END_ID]))
    template = ChatTemplate(CHAT_TEMPLATE, bos_token="", eos_token="")
    with serve() as one, serve_runner(other, tokenizer, template, OracleRunner(4096, script)) as two:
        backends = tuple(
            Backend(name=name, base_url=server.url, api_key=KEY, early_message_start=True, diagnostics=True)
            for name, server in (("first", one), ("second", two))
        )
        await chats.run(one.url, steps, backends=backends)


class GatedRunner(OracleRunner):
    """Waits inside the second chunk of its first prompt."""

    def __init__(self, script: Script) -> None:
        super().__init__(4096, script)
        self.is_inside, self.gate = threading.Event(), threading.Event()

    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        if any(item.start == 64 and len(item.tokens) == 64 for item in batch):
            self.is_inside.set()
            self.gate.wait(20)
        return super().run(batch)


async def test_a_turn_that_was_stopped_in_its_prompt_leaves_the_rest_to_the_next(
    chats: Chats, tokenizer: TextTokenizer, script: Script
) -> None:
    runner = GatedRunner(script)

    async def steps(chat: Chat) -> None:
        sent = await chat.house.turns.send(chat.owner, question("one two three " * 60))
        assert await anyio.to_thread.run_sync(runner.is_inside.wait, 20)
        chat.id = sent.conversation_id
        await chat.house.turns.stop(chat.owner, sent.turn_id)
        await anyio.to_thread.run_sync(until, lambda: not server.app.state.engine.num_requests)
        runner.gate.set()
        stopped = (await chat.turns())[0]
        assert (stopped.status, named(stopped)) == ("stopped", ("first_turn", False))
        turn = await chat.ask("", kind="retry", message_id=sent.assistant_message_id)
        assert (named(turn), turn.cached_tokens) == (("still_computing", True), 128)

    with serve_scripted(tokenizer, runner, chunk_tokens=64) as server:
        await chats.run(server.url, steps)
