"""The text of an answer on the wire: split characters, ends inside one, stop strings; streamed and whole alike."""

import json
from collections.abc import Iterator

import pytest

from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import Script, serve_scripted
from tests.inference_server.serving import Served, assistant, events, prompt_tokens, user

ASKED = [user("Speak")]


class Speaker:
    """A server that says what it is told, for a user of its own in each test."""

    def __init__(self, server: Served, script: Script, user_id: str) -> None:
        self._server = server
        self._script = script
        self._metadata = {"user_id": user_id}

    def answer(self, tokens: list[int], **fields: object) -> tuple[dict, list[str]]:
        """The message with this answer and the deltas of its stream, which have to say the same."""
        fields = {"max_tokens": 100, "metadata": self._metadata, **fields}
        self._script.say(tokens)
        whole = self._server.ask(ASKED, **fields)
        self._script.say(tokens)
        body = {"model": "scripted", "messages": ASKED, "stream": True, **fields}
        got = events(self._server.http.post("/v1/messages", json=body))
        deltas = [data["delta"]["text"] for name, data in got if name == "content_block_delta"]
        (ending,) = (data for name, data in got if name == "message_delta")
        assert "".join(deltas) == whole["content"][0]["text"]
        assert ending["delta"] == {key: whole[key] for key in ("stop_reason", "stop_sequence")}
        assert ending["usage"]["output_tokens"] == whole["usage"]["output_tokens"]
        assert got[-1][0] == "message_stop"
        return whole, deltas

    def reads_all_of(self, whole: dict) -> bool:
        """Whether the next turn reads all that this one held, its text being resent as it came."""
        self._script.say([])
        messages = [*ASKED, assistant(whole["content"][0]["text"]), user("More")]
        read = self._server.ask(messages, metadata=self._metadata)["usage"]["cache_read_input_tokens"]
        return bool(read == prompt_tokens(whole["usage"]) + whole["usage"]["output_tokens"] - 1)


@pytest.fixture(scope="module")
def server(tiny_tokenizer: TextTokenizer) -> Iterator[tuple[Served, Script]]:
    script = Script()
    with serve_scripted(tiny_tokenizer, OracleRunner(8192, script)) as served:
        yield served, script


@pytest.fixture
def speaker(server: tuple[Served, Script], request: pytest.FixtureRequest) -> Speaker:
    return Speaker(*server, request.node.name)


@pytest.mark.parametrize(
    "text",
    [
        "안녕하세요, 반갑습니다",
        "漢字abc字かな",
        "👩‍👩‍👧‍👦🏳️‍🌈!",
        "e\u0301a\u0308\u0323 o\u0302",
        "\u00a0\ufeffx\u2028\r\n\t",
    ],
)
def test_characters_split_over_tokens_arrive_once_and_whole(
    speaker: Speaker, tiny_tokenizer: TextTokenizer, text: str
) -> None:
    tokens = list(tiny_tokenizer.encode_content(text))
    assert len(tokens) > len(text)
    whole, deltas = speaker.answer(tokens)
    assert whole["content"][0]["text"] == text
    assert not any("\ufffd" in delta for delta in deltas)
    assert whole["usage"]["output_tokens"] == len(tokens) + 1


def test_every_line_is_a_line_for_readers_that_split_at_unicode_line_ends(
    server: tuple[Served, Script], tiny_tokenizer: TextTokenizer
) -> None:
    served, script = server
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    script.say(list(tiny_tokenizer.encode_content(text)))
    body = {"model": "scripted", "messages": ASKED, "max_tokens": 100, "stream": True}
    lines = served.http.post("/v1/messages", json=body).text.splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta") == text


@pytest.mark.parametrize("end", ["max_tokens", "end_turn"])
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_an_end_inside_a_character_leaves_it_out_of_the_text_and_in_the_count(
    speaker: Speaker, tiny_tokenizer: TextTokenizer, cut: int, end: str
) -> None:
    tokens = list(tiny_tokenizer.encode_content("x🦄"))
    assert len(tokens) == 5
    said = tokens[: 1 + cut]
    limit = len(said) if end == "max_tokens" else 100
    whole, _ = speaker.answer(said, max_tokens=limit)
    assert (whole["content"][0]["text"], whole["stop_reason"]) == ("x", end)
    assert whole["usage"]["output_tokens"] == len(said) + (end == "end_turn")
    assert speaker.reads_all_of(whole)


@pytest.mark.parametrize("end", ["max_tokens", "end_turn"])
def test_a_replacement_character_that_was_said_stays(speaker: Speaker, tiny_tokenizer: TextTokenizer, end: str) -> None:
    tokens = list(tiny_tokenizer.encode_content("a\ufffd"))
    whole, _ = speaker.answer(tokens, max_tokens=len(tokens) if end == "max_tokens" else 100)
    assert (whole["content"][0]["text"], whole["stop_reason"]) == ("a\ufffd", end)
    assert speaker.reads_all_of(whole)


STOPS = {
    "over many tokens": (["DEFGHIJ"], "ABCDEFGHIJKLM", "ABC", "DEFGHIJ"),
    "a near miss": (["DEFGHIJ"], "ABCDEFGHIK", "ABCDEFGHIK", None),
    "inside one token": (["n"], "king", "ki", "n"),
    "two that overlap": (["bcd", "abc"], "xabcd", "x", "abc"),
    "with an emoji": (["🦄!"], "a🦄?🦄!b", "a🦄?", "🦄!"),
    "the end while text is held": (["END."], "the END", "the END", None),
}


@pytest.mark.parametrize("name", STOPS)
def test_a_stop_string_ends_the_answer_and_is_named(speaker: Speaker, tiny_tokenizer: TextTokenizer, name: str) -> None:
    stops, said, delivered, stop = STOPS[name]
    whole, _ = speaker.answer(list(tiny_tokenizer.encode_content(said)), stop_sequences=stops)
    assert whole["content"][0]["text"] == delivered
    reason = "end_turn" if stop is None else "stop_sequence"
    assert (whole["stop_reason"], whole["stop_sequence"]) == (reason, stop)


def test_the_limit_releases_text_that_was_held_as_a_possible_stop(
    speaker: Speaker, tiny_tokenizer: TextTokenizer
) -> None:
    tokens = list(tiny_tokenizer.encode_content("so EN"))
    whole, _ = speaker.answer(tokens, stop_sequences=["END"], max_tokens=len(tokens))
    assert (whole["content"][0]["text"], whole["stop_reason"], whole["stop_sequence"]) == ("so EN", "max_tokens", None)
