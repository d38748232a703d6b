"""Answers whose ids do not encode to themselves still hit exactly: forced ids through the whole server."""

import pytest

from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import Script, serve_scripted
from tests.inference_server.serving import Served, assistant, prompt_tokens, user


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


@pytest.mark.parametrize("history", ["transcript", "template"])
def test_an_answer_that_encodes_otherwise_is_read_to_the_first_other_id(
    tokenizer: TextTokenizer, script: Script, history: str
) -> None:
    """Six stretches of sixteen ids, drifting in the second: without transcripts the hit is smaller, and true."""
    newline = tokenizer.encode_content("\n")[0]
    plain = list(tokenizer.encode_content(" one two three four five six seven eight nine ten"))
    ids = [*(plain * 2)[:18], newline, newline, *(plain * 8)[:78]]
    encoded = list(tokenizer.encode_content(tokenizer.text(ids)))
    same = next(n for n, (said, again) in enumerate(zip(ids, encoded, strict=False)) if said != again)
    assert 16 <= same < 32 < len(ids) == 98
    with serve_scripted(tokenizer, OracleRunner(2048, script), history=history) as server:
        script.say(ids)
        reply = server.ask([user("Count")], max_tokens=200)
        script.say([])
        follow_up = [user("Count"), assistant(reply["content"][0]["text"]), user("More")]
        usage = server.ask(follow_up)["usage"]
    prompt, output = prompt_tokens(reply["usage"]), reply["usage"]["output_tokens"]
    right = {"transcript": prompt + output - 1, "template": prompt + same}
    assert usage["cache_read_input_tokens"] == right[history]
