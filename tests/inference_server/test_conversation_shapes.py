"""Message lists of every shape: what is the same prompt, what is accepted, and what is refused with its path."""

import pytest

from tests.inference_server.serving import Served, assistant, prompt_tokens, user


def text(*blocks: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": block} for block in blocks]


def refusal(served: Served, messages: object, **fields: object) -> str:
    """The message of a 400."""
    body = {"model": "tiny", "max_tokens": 1, "messages": messages, **fields}
    response = served.http.post("/v1/messages", json=body)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")
    return str(response.json()["error"]["message"])


REFUSED = {
    "a user message of empty text": ([user("a"), {"role": "user", "content": text("", "")}], "messages.1:"),
    "a message that is no object": (["hi"], "messages.0:"),
    "a message without role": ([{"content": "hi"}], "messages.0.role:"),
    "a role that is null": ([{"role": None, "content": "hi"}], "messages.0.role:"),
    "a block that is no object": ([{"role": "user", "content": ["hi"]}], "messages.0.content.0:"),
    "a number as text": ([{"role": "user", "content": [{"type": "text", "text": 5}]}], "messages.0.content.0.text:"),
    "a null among the blocks": ([{"role": "assistant", "content": [None]}], "messages.0.content.0:"),
    "a tool's result": ([{"role": "user", "content": [{"type": "tool_result", "text": "x"}]}], "messages.0.content.0:"),
    "an answer that is null": ([user("a"), {"role": "assistant", "content": None}], "messages.1.content:"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_shape_is_refused_with_its_path(tiny: Served, name: str) -> None:
    messages, path = REFUSED[name]
    assert refusal(tiny, messages).startswith(path)


def test_a_missing_list_is_named(tiny: Served) -> None:
    response = tiny.http.post("/v1/messages", json={"model": "tiny", "max_tokens": 1})
    assert (response.status_code, response.json()["error"]["message"]) == (400, "messages: Field required")


def test_ten_thousand_messages_are_counted_or_refused(tiny: Served) -> None:
    many = [user("question"), assistant("answer")] * 5000
    assert refusal(tiny, many).startswith("messages:")
    empty = [user("x"), *([assistant("")] * 9998), user("y")]
    assert "tokens" in refusal(tiny, empty)


ACCEPTED = {
    "an answer first": [assistant("Hi."), user("Hello")],
    "an answer alone": [assistant("Once upon")],
    "users in a row": [user("a"), user("b")],
    "answers in a row": [user("a"), assistant("b"), assistant("c"), user("d")],
    "an answer last": [user("a"), assistant("Once")],
    "an answer last, with white space behind": [user("a"), assistant("Once \n ")],
    "an empty answer last": [user("a"), assistant("")],
    "an answer without text": [user("a"), {"role": "assistant", "content": text("")}, user("b")],
    "a system message in the middle": [user("a"), {"role": "system", "content": "s"}, user("b")],
    "a system message alone": [{"role": "system", "content": "s"}],
    "an empty block beside another": [{"role": "user", "content": text("", "a")}],
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_odd_shape_is_counted_as_it_is_computed(tiny: Served, name: str) -> None:
    messages = ACCEPTED[name]
    reply = tiny.ask(messages, max_tokens=2)
    assert reply["usage"]["output_tokens"] >= 1
    assert prompt_tokens(reply["usage"]) == tiny.count(messages)


SAME = {
    "one block and its string": ([user("one")], [{"role": "user", "content": text("one")}]),
    "an answer's block and its string": (
        [user("q"), assistant("one"), user("r")],
        [user("q"), {"role": "assistant", "content": text("one")}, user("r")],
    ),
    "neighbours and their blocks": (
        [user("a"), user("b")],
        [{"role": "user", "content": text("a", "\n\n", "b")}],
    ),
    "system in the list and on top": ([{"role": "system", "content": "s"}, user("a")], [user("a")]),
}


@pytest.mark.parametrize("name", SAME)
def test_two_ways_to_write_it_are_one_prompt(tiny: Served, name: str) -> None:
    one, other = SAME[name]
    fields = {"system": text("s")} if "system" in name else {}
    scope = {"metadata": {"user_id": name}, "max_tokens": 0}
    whole = prompt_tokens(tiny.ask(one, **scope)["usage"])
    assert tiny.ask(other, **scope, **fields)["usage"]["cache_read_input_tokens"] == whole - 1


def test_blocks_of_one_message_read_as_their_text_once_it_was_asked(tiny: Served) -> None:
    """Each block has ids of its own; resent as one string, the conversation keeps those that the model saw."""
    scope = {"metadata": {"user_id": "blocks"}, "max_tokens": 0}
    whole = prompt_tokens(tiny.ask([{"role": "user", "content": text("t", "he ", "the")}], **scope)["usage"])
    again = tiny.ask([user("the the")], **scope)["usage"]
    assert (prompt_tokens(again), again["cache_read_input_tokens"]) == (whole, whole - 1)
