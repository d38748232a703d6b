"""Every outcome, forced through the whole server and read from the wire."""

import threading
from collections.abc import Sequence

import pytest
from prometheus_client.parser import text_string_to_metric_families

from inference_server.model_runner import BatchItem
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import Script, serve_scripted
from tests.inference_server.serving import Served, assistant, events, prompt_tokens, until, user
from tests.tiny_model import CHAT_TEMPLATE

QUESTION = user("How many legs has a spider?")


def outcomes(server: Served) -> dict[str, float]:
    """Those that have been counted."""
    families = text_string_to_metric_families(server.http.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples]
    name = "recount_inference_prefix_cache_outcomes_total"
    return {s.labels["outcome"]: s.value for s in samples if s.name == name and s.value}


def asked(server: Served, script: Script, messages: list[dict[str, object]], said: list[int], **fields: object) -> dict:
    script.say(said)
    return server.ask(messages, **{"max_tokens": 50, **fields})


def after(reply: dict, *more: dict[str, object]) -> list[dict[str, object]]:
    """The conversation that goes on behind a reply to QUESTION."""
    return [QUESTION, assistant(reply["content"][0]["text"]), *more]


def held(reply: dict) -> int:
    return prompt_tokens(reply["usage"]) + reply["usage"]["output_tokens"] - 1


def test_a_first_question_is_cold(server: Served, script: Script) -> None:
    reply = asked(server, script, [QUESTION], [])
    assert reply["diagnostics"] is None
    assert reply["prefix_cache"] == {
        "outcome": "cold",
        "expected_tokens": None,
        "matched_tokens": 0,
        "diverged_at_token": None,
        "diverged_in": None,
        "serving_id": server.http.get("/health").json()["serving_id"],
    }
    assert reply["id"].split("_")[1] == reply["prefix_cache"]["serving_id"]
    assert outcomes(server) == {"cold": 1}


def test_a_conversation_that_goes_on_hits(server: Served, script: Script, tokenizer: TextTokenizer) -> None:
    first = asked(server, script, [QUESTION], list(tokenizer.encode_content("Eight.")))
    second = asked(server, script, after(first, user("And an ant?")), [])
    assert second["prefix_cache"]["outcome"] == "hit"
    assert second["prefix_cache"]["expected_tokens"] == second["prefix_cache"]["matched_tokens"] == held(first)
    again = asked(server, script, after(first, user("And an ant?")), [])
    assert again["prefix_cache"]["expected_tokens"] == prompt_tokens(second["usage"]) - 1
    edited = asked(server, script, after(first, user("And a cat?")), [])
    assert (edited["prefix_cache"]["outcome"], edited["prefix_cache"]["expected_tokens"]) == ("hit", held(first))
    assert outcomes(server) == {"cold": 1, "hit": 3}


def test_the_stream_says_it_at_its_start(server: Served, script: Script) -> None:
    asked(server, script, [QUESTION], [])
    body = {"model": "scripted", "max_tokens": 5, "messages": [QUESTION], "stream": True}
    script.say([])
    started = dict(events(server.http.post("/v1/messages", json=body)))["message_start"]["message"]
    assert (started["prefix_cache"]["outcome"], started["diagnostics"]) == ("hit", None)


@pytest.mark.parametrize(
    ("system", "messages", "where", "public"),
    [
        ("Now it is 14:05.", [QUESTION, assistant("Eight."), user("Why?")], "system", "system_changed"),
        ("Now it is 14:03.", [user("How many?"), assistant("Eight."), user("Why?")], "messages.0", "messages_changed"),
        ("Now it is 14:03.", [QUESTION, assistant("Six."), user("Why?")], "messages.1", "messages_changed"),
    ],
)
def test_a_changed_message_is_named(
    server: Served,
    script: Script,
    tokenizer: TextTokenizer,
    system: str,
    messages: list[dict[str, object]],
    where: str,
    public: str,
) -> None:
    answer = list(tokenizer.encode_content("Eight."))
    first = asked(server, script, [QUESTION], answer, system="Now it is 14:03.")
    known = {"previous_message_id": first["id"]}
    reply = asked(server, script, messages, [], system=system, diagnostics=known)
    cache = reply["prefix_cache"]
    assert (cache["outcome"], cache["diverged_in"], cache["expected_tokens"]) == ("changed", where, held(first))
    assert cache["diverged_at_token"] == cache["matched_tokens"] < held(first)
    missed = held(first) - cache["matched_tokens"]
    assert reply["diagnostics"] == {"cache_miss_reason": {"type": public, "cache_missed_input_tokens": missed}}


def test_a_request_that_did_not_change_has_no_public_reason(server: Served, script: Script) -> None:
    first = asked(server, script, [QUESTION], [], diagnostics={"previous_message_id": None})
    assert first["diagnostics"] is None
    second = asked(server, script, [QUESTION], [], diagnostics={"previous_message_id": first["id"]})
    assert second["diagnostics"] is None


@pytest.mark.parametrize("user_id", ["somebody", "somebody else"])
def test_an_id_of_another_scope_is_not_found(server: Served, script: Script, user_id: str) -> None:
    first = asked(server, script, [QUESTION], [], metadata={"user_id": "somebody"})
    fields = {"metadata": {"user_id": user_id}, "system": "Other", "diagnostics": {"previous_message_id": first["id"]}}
    reply = asked(server, script, [QUESTION], [], **fields)
    reason = reply["diagnostics"]["cache_miss_reason"]["type"]
    assert reason == ("system_changed" if user_id == "somebody" else "previous_message_not_found")
    assert reply["prefix_cache"]["outcome"] == ("changed" if user_id == "somebody" else "cold")
    unknown = {"previous_message_id": "msg_0_0"}
    assert asked(server, script, [QUESTION], [], diagnostics=unknown)["diagnostics"] == {
        "cache_miss_reason": {"type": "previous_message_not_found"}
    }


def test_a_pool_that_is_too_small_evicts(tokenizer: TextTokenizer, script: Script) -> None:
    with serve_scripted(tokenizer, OracleRunner(220, script)) as server:
        first = asked(server, script, [QUESTION], [])
        asked(server, script, [user("one two three " * 65)], [], max_tokens=1)
        again = asked(server, script, [QUESTION], [])
        cache = again["prefix_cache"]
        assert (cache["outcome"], cache["expected_tokens"]) == ("evicted", prompt_tokens(first["usage"]) - 1)
        assert (cache["matched_tokens"], cache["diverged_in"]) == (again["usage"]["cache_read_input_tokens"], None)
        assert cache["matched_tokens"] < cache["expected_tokens"]


def test_evicted_tokens_are_told_apart_without_the_request_that_had_them(
    tokenizer: TextTokenizer, script: Script
) -> None:
    with serve_scripted(tokenizer, OracleRunner(220, script), record_bytes=0) as server:
        asked(server, script, [QUESTION], [])
        asked(server, script, [user("one two three " * 65)], [], max_tokens=1)
        assert asked(server, script, [QUESTION], [])["prefix_cache"]["outcome"] == "evicted"


class _Gated(OracleRunner):
    """Waits inside the second chunk of its first prompt."""

    def __init__(self, script: Script) -> None:
        super().__init__(4096, script)
        self.is_inside, self.gate = threading.Event(), threading.Event()

    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        if any(item.start == 64 and len(item.tokens) == 64 for item in batch):
            self.is_inside.set()
            self.gate.wait(20)
        return super().run(batch)


def test_a_request_that_was_stopped_in_its_prompt_has_not_computed_the_rest(
    tokenizer: TextTokenizer, script: Script
) -> None:
    runner = _Gated(script)
    long = user("one two three " * 60)
    with serve_scripted(tokenizer, runner, chunk_tokens=64) as server:
        body = {"model": "scripted", "max_tokens": 5, "messages": [long], "stream": True}
        with server.http.stream("POST", "/v1/messages", json=body):
            assert runner.is_inside.wait(20)
        until(lambda: not server.app.state.engine.num_requests)
        runner.gate.set()
        cache = asked(server, script, [long], [])["prefix_cache"]
        assert (cache["outcome"], cache["matched_tokens"]) == ("still_computing", 128)
        assert cache["expected_tokens"] == server.count([long]) - 1


NUMBERED = CHAT_TEMPLATE.replace("{% for", "{{ '[' ~ messages | length ~ ']' }}{% for", 1)


def test_a_template_that_writes_otherwise_is_named(tokenizer: TextTokenizer, script: Script) -> None:
    with serve_scripted(tokenizer, OracleRunner(4096, script), NUMBERED, history="template") as server:
        first = asked(server, script, [QUESTION], list(tokenizer.encode_content("Eight.")))
        cache = asked(server, script, after(first, user("Why?")), [])["prefix_cache"]
        assert (cache["outcome"], cache["diverged_in"]) == ("template_rewrote", "template")
        assert (cache["expected_tokens"], cache["diverged_at_token"]) == (held(first), cache["matched_tokens"])


def test_forgotten_tokens_of_an_answer_are_named(tokenizer: TextTokenizer, script: Script) -> None:
    """Two newlines that the model said one by one, and that text encodes as one token."""
    newline = tokenizer.encode_content("\n")[0]
    with serve_scripted(tokenizer, OracleRunner(4096, script), transcript_bytes=0) as server:
        first = asked(server, script, [QUESTION], [newline, newline, newline])
        asked(server, script, [user("Something else, so that the first is forgotten")], [])
        cache = asked(server, script, after(first, user("Why?")), [])["prefix_cache"]
        assert (cache["outcome"], cache["diverged_in"]) == ("retokenized", "messages.1")
        assert (cache["expected_tokens"], cache["matched_tokens"]) == (held(first), prompt_tokens(first["usage"]))


@pytest.mark.parametrize(("back", "outcome"), [("Ei", "stop_split"), ("Eight", "hit"), ("Eight legs", "hit")])
def test_an_answer_that_comes_back_cut(
    server: Served, script: Script, tokenizer: TextTokenizer, back: str, outcome: str
) -> None:
    said = [tokenizer.encode_content(piece)[0] for piece in ("Eight", " legs", ".")]
    assert tokenizer.text(said) == "Eight legs."
    first = asked(server, script, [QUESTION], said)
    cache = asked(server, script, [QUESTION, assistant(back), user("Why?")], [])["prefix_cache"]
    whole = {"Ei": 0, "Eight": 1, "Eight legs": 2}[back]
    assert (cache["outcome"], cache["expected_tokens"]) == (outcome, prompt_tokens(first["usage"]) + whole)
    assert cache["matched_tokens"] == cache["expected_tokens"]
    assert cache["diverged_in"] == ("messages.1" if outcome == "stop_split" else None)


def test_a_stop_string_inside_a_token_splits_it(server: Served, script: Script, tokenizer: TextTokenizer) -> None:
    said = [tokenizer.encode_content(piece)[0] for piece in ("Eight", " legs", ".")]
    first = asked(server, script, [QUESTION], said, stop_sequences=["gs."])
    assert (first["stop_reason"], first["content"][0]["text"]) == ("stop_sequence", "Eight le")
    cache = asked(server, script, after(first, user("Why?")), [])["prefix_cache"]
    assert (cache["outcome"], cache["matched_tokens"]) == ("stop_split", prompt_tokens(first["usage"]) + 1)


def test_a_continued_answer_hits_and_so_does_what_follows_it(
    server: Served, script: Script, tokenizer: TextTokenizer
) -> None:
    said = [tokenizer.encode_content(piece)[0] for piece in ("Eight", " legs", ".")]
    first = asked(server, script, [QUESTION], said, max_tokens=2)
    second = asked(server, script, after(first), said[2:])
    assert (second["prefix_cache"]["outcome"], second["prefix_cache"]["matched_tokens"]) == ("hit", held(first))
    third = asked(server, script, [QUESTION, assistant("Eight legs."), user("Why?")], [])
    assert (third["prefix_cache"]["outcome"], third["prefix_cache"]["expected_tokens"]) == ("hit", held(second))


def test_without_a_prefix_cache_nothing_is_read_and_it_is_said(tokenizer: TextTokenizer, script: Script) -> None:
    with serve_scripted(tokenizer, OracleRunner(4096, script), prefix_cache=False) as server:
        first = asked(server, script, [QUESTION], [])
        known = {"previous_message_id": first["id"]}
        second = asked(server, script, [QUESTION], [], diagnostics=known)
        assert second["usage"]["cache_read_input_tokens"] == 0
        assert (second["prefix_cache"]["outcome"], second["prefix_cache"]["expected_tokens"]) == ("disabled", None)
        assert second["diagnostics"] == {"cache_miss_reason": {"type": "unavailable"}}


def test_a_new_server_knows_nothing_of_an_old_one(tokenizer: TextTokenizer, script: Script) -> None:
    with serve_scripted(tokenizer, OracleRunner(4096, script)) as old:
        first = asked(old, script, [QUESTION], [])
    with serve_scripted(tokenizer, OracleRunner(4096, script)) as new:
        reply = asked(new, script, [QUESTION], [], diagnostics={"previous_message_id": first["id"]})
    assert reply["diagnostics"] == {"cache_miss_reason": {"type": "previous_message_not_found"}}
    assert reply["prefix_cache"]["outcome"] == "cold"
    assert reply["prefix_cache"]["serving_id"] != first["prefix_cache"]["serving_id"]
