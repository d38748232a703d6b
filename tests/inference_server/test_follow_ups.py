"""What a follow-up reads, for all kinds of endings and follow-ups: min(I + k, K, len - 1), to the token.

I is the prompt before, K the KV tokens held at its end, k the leading output ids whose text was delivered and comes
back. The model says random tokens, so most answers are not what their text would encode to, and many end inside a
character. Everything between messages and slots is real; only HTTP is left out.
"""

import random
from array import array
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_server.engine import Engine, Finished, TextGenerated
from inference_server.gguf_file import GgufFile
from inference_server.reasons import Outcome, explain
from inference_server.records import Record, digests
from inference_server.scheduler import Scheduler
from inference_server.sequence import Sampling, Sequence
from inference_server.text.chat_template import ChatMessage, ChatTemplate
from inference_server.text.detokenizer import Detokenizer, TextReader
from inference_server.text.prompt import Prompt, PromptBuilder
from inference_server.text.stop_strings import StopStrings
from inference_server.text.tokenizer import TextTokenizer
from inference_server.text.transcripts import Transcripts
from tests.inference_server.engine_support import step
from tests.inference_server.oracle_runner import OracleRunner
from tests.tiny_model import CONTROL_TOKENS, MESSAGE_END

NUM_SLOTS = 4096
SYSTEM = ChatMessage("system", ("Be brief.",))
ENDINGS = ("end_turn", "max_tokens", "abort", "stop_string")
FOLLOW_UPS = ("append", "append", "edit", "regenerate", "continue", "cut")


@dataclass
class Answered:
    """A request that has ended: what it was, what it holds, what its client got."""

    messages: list[ChatMessage]
    prompt: Prompt
    sequence: Sequence
    text: str

    @property
    def record(self) -> Record:
        """What the server keeps of it."""
        places = tuple(f"messages.{index}" for index in range(len(self.messages)))
        return Record(self.sequence, self.prompt, digests(self.messages), places)

    @property
    def held(self) -> "array[int]":
        """The tokens whose KV exists."""
        return (self.prompt.tokens + self.sequence.output)[: self.sequence.peak]


class House:
    """A server without HTTP: prompts, transcripts, engine, and a model that says random tokens."""

    def __init__(self, model: Path, seed: int) -> None:
        metadata = GgufFile.open(model).metadata
        self.tokenizer = TextTokenizer(metadata)
        template = ChatTemplate(metadata["tokenizer.chat_template"], bos_token="", eos_token="")
        self._transcripts = Transcripts(self.tokenizer, frozenset([MESSAGE_END]), max_bytes=1_000_000)
        self._prompts = PromptBuilder(self.tokenizer, template, self._transcripts, "tiny")
        self._random = random.Random(seed)
        scheduler = Scheduler(NUM_SLOTS, max_running=4, chunk_tokens=32, mixed_chunk_tokens=lambda _: 8)
        self._engine = Engine(OracleRunner(NUM_SLOTS, self._say), scheduler)
        self._ends = False
        self.answered: list[Answered] = []

    def ask(self, messages: list[ChatMessage], ending: str, length: int) -> Answered:
        """Let the model answer with about ``length`` tokens and end as told."""
        prompt = self._prompts.build(b"scope", messages)
        naive = max((_common(prompt.tokens[:-1], answer.held) for answer in self.answered), default=0)
        self._ends = ending == "end_turn"
        self._left = length
        output = array("i")
        self._prompts.remember(prompt, output)
        stops = StopStrings(["\n"] if ending == "stop_string" else [])
        sequence = Sequence(
            id=str(len(self.answered)),
            scope=b"scope",
            prompt=prompt.tokens,
            max_tokens=length if ending == "max_tokens" else length + 20,
            clamped=False,
            sampling=Sampling(0, 1, 0, 0),
            end_tokens=frozenset([MESSAGE_END]),
            reader=TextReader(Detokenizer(self.tokenizer, prompt.prefill or ()), stops),
            output=output,
        )
        text = self._run(sequence, abort_after=length if ending == "abort" else None)
        assert sequence.cached_tokens == naive
        answered = Answered(messages, prompt, sequence, text)
        self.answered.append(answered)
        return answered

    def delivered_run(self, answered: Answered, content: str) -> int:
        """k: leading output ids whose text is a beginning of ``content``, by decoding every prefix anew.

        Less than 0 where the content ends inside the prefill, which then does not come back whole either.
        """
        prefill = answered.prompt.prefill or ()
        ids = [*prefill, *(token for token in answered.sequence.output if token != MESSAGE_END)]
        if not prefill and self.tokenizer.text(ids) == content:
            return len(ids)
        runs = [
            count
            for count in range(len(ids) + 1)
            if Detokenizer(self.tokenizer, ids[:count]).is_between_characters
            and content.startswith(self.tokenizer.text(ids[:count]))
        ]
        return max(runs) - len(prefill)

    def _run(self, sequence: Sequence, abort_after: int | None) -> str:
        text = ""
        self._engine.add(sequence)
        while self._engine.has_work:
            if abort_after is not None and len(sequence.output) >= abort_after:
                self._engine.abort(sequence.id)
            for event in step(self._engine):
                text += event.text if isinstance(event, TextGenerated) else ""
                assert not isinstance(event, Finished) or event.id == sequence.id
            self._engine.scheduler.check()
        return text

    def _say(self, _prefix: tuple[int, ...]) -> int:
        self._left -= 1
        if self._ends and self._left < 0:
            return MESSAGE_END
        choices = [self._random.randrange(len(CONTROL_TOKENS), len(self.tokenizer.pieces))]
        choices += self.tokenizer.encode_content(self._random.choice(["\n", "\n\n", "a", "🦄", " the", "é"]))
        return self._random.choice(choices)


def _common(one: "array[int]", other: "array[int]") -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def next_messages(before: Answered, kind: str, number: int) -> tuple[list[ChatMessage], str | None]:
    """The messages of a follow-up, and the content of the answer that comes back in it (None: it does not)."""
    question = ChatMessage("user", (f"question {number}",))
    asked = before.messages[:-1] if before.messages[-1].role == "assistant" else before.messages
    so_far = before.messages[-1].text if before.messages[-1].role == "assistant" else ""
    answer = so_far + before.text
    if kind == "edit":
        return [*asked[:-1], ChatMessage("user", (f"{asked[-1].text[:-1]}{number}",))], None
    if kind == "regenerate":
        return asked, None
    if kind == "continue" and answer:
        return [*asked, ChatMessage("assistant", (answer,))], answer
    content = answer[: len(answer) // 2] if kind == "cut" else answer
    return [*asked, ChatMessage("assistant", (content,)), question], content


TURN = st.tuples(st.sampled_from(ENDINGS), st.integers(1, 12), st.sampled_from(FOLLOW_UPS), st.integers(0, 3))


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> Path:
    return tiny_model


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), turns=st.lists(TURN, min_size=2, max_size=7))
def test_a_follow_up_reads_all_that_is_held_and_comes_back(
    model: Path, seed: int, turns: list[tuple[str, int, str, int]]
) -> None:
    house = House(model, seed)
    house.ask([SYSTEM, ChatMessage("user", ("question 0",))], turns[0][0], turns[0][1])
    for number, (ending, length, kind, back) in enumerate(turns[1:], 1):
        before = house.answered[max(0, len(house.answered) - 1 - back)]
        messages, content = next_messages(before, kind, number)
        after = house.ask(messages, ending, length)
        assert after.sequence.cached_tokens is not None
        if content is not None:
            held, prompt = len(before.held), len(before.prompt.tokens)
            law = min(prompt + house.delivered_run(before, content), held, len(after.prompt.tokens) - 1)
            assert after.sequence.cached_tokens >= law
        elif kind == "regenerate":
            assert after.sequence.cached_tokens == len(after.prompt.tokens) - 1
        reason = explain(after.record, before.record, house.tokenizer)
        allowed = {Outcome.HIT, Outcome.CHANGED} if kind == "edit" else {Outcome.HIT, Outcome.STOP_SPLIT}
        assert reason.outcome in allowed
        assert reason.outcome is Outcome.CHANGED or reason.missed == 0
