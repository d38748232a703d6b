"""Answers whose ids do not encode to themselves still hit exactly: forced ids through the whole server."""

from collections.abc import Iterator

import pytest

from inference_server.api.generation import ServedModel
from inference_server.bundled_model import bundled_model
from inference_server.gguf_file import GgufFile
from inference_server.text.chat_template import ChatTemplate
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.serving import Served, assistant, prompt_tokens, serve_runner, user

END_ID = 2


class Script:
    """Says the scripted tokens of each answer in turn, then the end token."""

    def __init__(self) -> None:
        self.answer: list[int] = []
        self._said = 0

    def say(self, tokens: list[int]) -> None:
        self.answer, self._said = tokens, 0

    def __call__(self, _prefix: tuple[int, ...]) -> int:
        self._said += 1
        return self.answer[self._said - 1] if self._said <= len(self.answer) else END_ID


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def server(tokenizer: TextTokenizer, script: Script) -> Iterator[Served]:
    source = GgufFile.open(bundled_model()).metadata["tokenizer.chat_template"]
    template = ChatTemplate(source, bos_token="<|im_start|>", eos_token="<|im_end|>")
    model = ServedModel("scripted", "Scripted", 2048, frozenset([END_ID]))
    with serve_runner(model, tokenizer, template, OracleRunner(2048, script)) as served:
        yield served


def drifting_answers(tokenizer: TextTokenizer) -> list[list[int]]:
    newline = tokenizer.encode_content("\n")[0]
    split_word = [tokenizer.encode_content(letter)[0] for letter in "hello"]
    unicorn = list(tokenizer.encode_content("🦄"))
    return [[newline, newline], split_word, [*split_word, newline, newline, *split_word], unicorn[:-1], []]


def test_answers_that_encode_otherwise_hit_exactly(server: Served, script: Script, tokenizer: TextTokenizer) -> None:
    answers = drifting_answers(tokenizer)
    assert any(list(tokenizer.encode_content(tokenizer.text(ids))) != ids for ids in answers)
    messages, expected = [], 0
    for number, ids in enumerate(answers):
        script.say(ids)
        messages.append(user(f"Question {number}"))
        counted = server.count(messages)
        reply = server.ask(messages, max_tokens=50)
        usage = reply["usage"]
        assert usage["cache_read_input_tokens"] == expected
        assert prompt_tokens(usage) == counted
        assert usage["output_tokens"] == len(ids) + 1
        text = reply["content"][0]["text"]
        assert text == tokenizer.text(ids)
        expected = prompt_tokens(usage) + usage["output_tokens"] - 1
        messages.append(assistant(text))


def test_an_answer_cut_by_the_limit_hits_exactly(server: Served, script: Script, tokenizer: TextTokenizer) -> None:
    unicorn = list(tokenizer.encode_content("x🦄"))
    script.say(unicorn)
    reply = server.ask([user("Unicorn?")], max_tokens=len(unicorn) - 1)
    assert (reply["stop_reason"], reply["content"][0]["text"]) == ("max_tokens", "x")
    script.say([])
    follow_up = server.ask([user("Unicorn?"), assistant("x"), user("More")])["usage"]
    assert follow_up["cache_read_input_tokens"] == prompt_tokens(reply["usage"]) + len(unicorn) - 2


def test_a_continued_answer_completes_the_cut_character(
    server: Served, script: Script, tokenizer: TextTokenizer
) -> None:
    unicorn = list(tokenizer.encode_content("x🦄y"))
    cut = next(n for n in range(2, len(unicorn)) if tokenizer.text(unicorn[:n]) == "x")
    script.say(unicorn)
    first = server.ask([user("Unicorn?")], max_tokens=cut)
    script.say(unicorn[cut:])
    rest = server.ask([user("Unicorn?"), assistant("x")])
    assert rest["content"][0]["text"] == "🦄y"
    assert rest["usage"]["cache_read_input_tokens"] == prompt_tokens(first["usage"]) + cut - 1
    script.say([])
    follow_up = server.ask([user("Unicorn?"), assistant("x🦄y"), user("More")])["usage"]
    read = prompt_tokens(rest["usage"]) + rest["usage"]["output_tokens"] - 1
    assert follow_up["cache_read_input_tokens"] == read
