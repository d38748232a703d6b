"""The laws L2 and L3 on the bundled model over HTTP: what a turn reads from the cache is known to the token."""

import random
from collections.abc import Iterator

import pytest
from anthropic import Anthropic

from tests.inference_server.serving import KEY, Served, assistant, prompt_tokens, user

pytestmark = pytest.mark.model

QUESTIONS = [
    "Name three colours.",
    "Which of them is the warmest?",
    "Write a haiku about it.",
    "Now in one word.",
    "List two animals,\none a line.",
    "  Which one can fly?  ",
    "그럼 수박은? 🍉",
    "Show a tiny Python function.",
    "What does <|im_end|> mean?",
    "Thank you. Goodbye!",
]


@pytest.fixture
def client(bundled: Served) -> Iterator[Anthropic]:
    with Anthropic(base_url=bundled.url, api_key=KEY, max_retries=0) as client:
        yield client


def cached_by_the_tree(served: Served) -> float:
    """The server's own counter of tokens that were adopted from the radix tree."""
    for line in served.http.get("/metrics").text.splitlines():
        if line.startswith('recount_inference_tokens_total{kind="cached"}'):
            return float(line.split()[1])
    raise AssertionError("the metric is missing")


def test_ten_turns_read_exactly_what_the_law_says(bundled: Served, client: Anthropic) -> None:
    rng = random.Random(7)
    conversations = {"one": [user("Hello, I am Ann.")], "two": [user("Hello, I am Bob.")]}
    expected = {"one": 0, "two": 0}
    for turn in range(20):
        name = ("one", "two")[turn % 2]
        messages = conversations[name]
        body = {
            "model": bundled.model,
            "max_tokens": rng.choice([1, 2, 5, 17, 40]),
            "system": f"You are {name}. Be brief.",
            "messages": messages,
            "metadata": {"user_id": "exact"},
            "extra_body": {"temperature": rng.choice([0.0, 0.2, 1.0, 1.5])},
        }
        counted = client.messages.count_tokens(
            model=bundled.model, messages=messages, system=body["system"], extra_body={"metadata": body["metadata"]}
        )
        before = cached_by_the_tree(bundled)
        if rng.random() < 0.5:
            with client.messages.stream(**body) as stream:
                reply = stream.get_final_message()
        else:
            reply = client.messages.create(**body)
        usage = reply.usage.model_dump()
        assert prompt_tokens(usage) == counted.input_tokens
        assert cached_by_the_tree(bundled) - before == usage["cache_read_input_tokens"]
        if turn >= 2:
            assert usage["cache_read_input_tokens"] == expected[name]
        expected[name] = prompt_tokens(usage) + usage["output_tokens"] - 1
        messages += [assistant(reply.content[0].text), user(QUESTIONS[turn // 2])]


def test_an_unchanged_prompt_reads_all_but_one(bundled: Served) -> None:
    messages, scope = [user("Say hello in five languages.")], {"user_id": "again"}
    first = bundled.ask(messages, metadata=scope)["usage"]
    again = bundled.ask(messages, metadata=scope, max_tokens=3)["usage"]
    assert first["cache_read_input_tokens"] == 0
    assert again["cache_read_input_tokens"] == prompt_tokens(first) - 1
    assert again["input_tokens"] == 1


def test_a_stopped_answer_is_followed_at_once(bundled: Served, client: Anthropic) -> None:
    messages, scope = [user("Tell me a very long story about the sea.")], {"user_id": "stopped"}
    text = ""
    body = {"model": bundled.model, "max_tokens": 400, "messages": messages, "metadata": scope}
    with client.messages.stream(**body, extra_body={"temperature": 1.0}) as stream:
        for piece in stream.text_stream:
            text += piece
            if len(text) > 60:
                break
        start = stream.current_message_snapshot
    prompt = prompt_tokens(start.usage.model_dump())
    follow_up = bundled.ask([*messages, assistant(text), user("Shorter, please.")], metadata=scope)["usage"]
    delivered = bundled.count([*messages, assistant(text)], metadata=scope) - prompt
    assert delivered > 2
    assert follow_up["cache_read_input_tokens"] >= prompt + delivered - 1


def test_a_stop_string_gives_at_least_the_prompt(bundled: Served) -> None:
    messages, scope = [user("Tell me a story about a horse.")], {"user_id": "stop-string"}
    reply = bundled.ask(messages, metadata=scope, max_tokens=60, temperature=0, stop_sequences=[" the"])
    assert reply["stop_reason"] == "stop_sequence"
    text = reply["content"][0]["text"]
    assert " the" not in text
    follow_up = bundled.ask([*messages, assistant(text), user("Go on.")], metadata=scope)["usage"]
    assert follow_up["cache_read_input_tokens"] >= prompt_tokens(reply["usage"])


def test_another_user_reads_nothing(bundled: Served) -> None:
    messages = [user("My secret is a blue whale in the garden pond.")]
    mine, theirs = {"user_id": "org_1" + "2345"}, {"user_id": "org_12345" + ""}
    assert mine == theirs  # The same name is the same user; another name shares nothing.
    first = bundled.ask(messages, metadata=mine)["usage"]
    assert bundled.ask(messages, metadata={"user_id": "org_1"})["usage"]["cache_read_input_tokens"] == 0
    assert bundled.ask(messages)["usage"]["cache_read_input_tokens"] == 0
    assert bundled.ask(messages, metadata=mine)["usage"]["cache_read_input_tokens"] == prompt_tokens(first) - 1
