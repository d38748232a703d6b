"""What a server shows of its messages: tokens, attention, comparison, forgetting, the cache as a whole."""

import httpx
import pytest

from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import Script, serve_scripted
from tests.inference_server.serving import Served, assistant, prompt_tokens, user

QUESTION = user("How many legs has a spider? 🕷")


@pytest.fixture
def turns(server: Served, script: Script, tokenizer: TextTokenizer) -> tuple[dict, dict]:
    """Two turns of one conversation."""
    said = list(tokenizer.encode_content("Eight legs."))
    script.say(said)
    first = server.ask([QUESTION], system="Be short.", max_tokens=50)
    script.say(said[:1])
    second = server.ask([QUESTION, assistant("Eight legs."), user("Why?")], system="Be short.", max_tokens=50)
    return first, second


def refused(response: httpx.Response) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["type"], error["message"]


def test_every_token_is_shown_with_whose_it_is(
    server: Served, turns: tuple[dict, dict], tokenizer: TextTokenizer
) -> None:
    first, second = turns
    shown = server.http.get(f"/v1/messages/{second['id']}/tokens").json()
    read, prompt = second["usage"]["cache_read_input_tokens"], prompt_tokens(second["usage"])
    assert (shown["input_tokens"], shown["cache_read_input_tokens"]) == (prompt, read)
    assert (shown["output_tokens"], shown["kv_tokens"], shown["finished"]) == (2, prompt + 1, True)
    tokens = shown["tokens"]
    assert [token["position"] for token in tokens] == list(range(prompt + 2))
    assert [token["state"] for token in tokens] == ["cached"] * read + ["computed"] * (prompt - read) + [
        "generated"
    ] * 2
    by_segment: dict[str, bytes] = {}
    for token in tokens:
        by_segment[token["segment"]] = by_segment.get(token["segment"], b"") + tokenizer.token_bytes(token["id"])
    assert list(by_segment) == ["template", "system", "messages.0", "messages.1", "messages.2", "answer"]
    said = [by_segment[name].decode() for name in ("system", "messages.0", "messages.1", "messages.2")]
    assert said == ["Be short.", QUESTION["content"], "Eight legs.", "Why?"]
    assert "<|im_start|>" in {token["text"] for token in tokens}
    assert any("\\x" in token["text"] for token in tokens), "a token that ends inside a character"
    assert read == prompt_tokens(first["usage"]) + first["usage"]["output_tokens"] - 1


def test_attention_is_shown_by_weight_with_the_rest_of_it(server: Served, turns: tuple[dict, dict]) -> None:
    _, second = turns
    asked = {"position": 20, "layer": 0, "head": 1, "top": 5}
    row = server.http.post(f"/v1/messages/{second['id']}/attention", json=asked).json()
    assert [round(item["weight"], 6) for item in row["top"]] == [round(1 / 21, 6)] * 5
    assert row["remainder"]["positions"] == 16
    assert sum(item["weight"] for item in row["top"]) + row["remainder"]["weight"] == pytest.approx(1, abs=1e-3)
    assert row["cached_weight"] == pytest.approx(1, abs=1e-3)
    mean = server.http.post(f"/v1/messages/{second['id']}/attention", json={"position": 20, "layer": 0}).json()
    assert (mean["top"][0]["position"], mean["head"]) == (20, "mean")
    assert mean["top"][0]["weight"] == pytest.approx((1 + 1 / 21) / 2)
    assert (mean["layers"], mean["heads"], mean["remainder"]["positions"]) == (1, 2, 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("position", 10_000),
        ("position", -1),
        ("position", "1"),
        ("layer", 1),
        ("head", 2),
        ("head", "most"),
        ("top", 0),
    ],
)
def test_what_there_is_no_attention_of_is_refused(
    server: Served, turns: tuple[dict, dict], field: str, value: object
) -> None:
    asked = {"position": 1, "layer": 0, field: value}
    status, kind, message = refused(server.http.post(f"/v1/messages/{turns[1]['id']}/attention", json=asked))
    assert (status, kind) == (400, "invalid_request_error")
    assert message.startswith(field)


def test_the_last_sampled_token_has_no_kv(server: Served, turns: tuple[dict, dict]) -> None:
    url, held = f"/v1/messages/{turns[1]['id']}/attention", prompt_tokens(turns[1]["usage"]) + 1
    assert server.http.post(url, json={"position": held - 1, "layer": 0}).status_code == 200
    status, _, message = refused(server.http.post(url, json={"position": held, "layer": 0}))
    assert (status, message) == (400, f"position: must be from 0 to {held - 1}, not {held}")


def test_attention_of_evicted_tokens_is_gone(tokenizer: TextTokenizer, script: Script) -> None:
    with serve_scripted(tokenizer, OracleRunner(220, script)) as server:
        script.say([])
        first = server.ask([QUESTION])
        server.ask([user("one two three " * 65)], max_tokens=1)
        url = f"/v1/messages/{first['id']}"
        last = prompt_tokens(first["usage"]) - 1
        status, kind, message = refused(server.http.post(f"{url}/attention", json={"position": last, "layer": 0}))
        assert (status, kind, message) == (410, "not_found_error", "the KV of this message has been evicted")
        assert server.http.get(f"{url}/tokens").status_code == 200


@pytest.mark.parametrize("path", ["tokens", "attention"])
def test_an_unknown_message_is_not_found(server: Served, path: str) -> None:
    url = f"/v1/messages/msg_none/{path}"
    response = server.http.get(url) if path == "tokens" else server.http.post(url, json={"position": 0, "layer": 0})
    assert refused(response)[:2] == (404, "not_found_error")


def test_two_conversations_are_compared_and_neither_is_run(server: Served) -> None:
    before = server.http.get("/metrics").text
    a = {"model": "scripted", "system": "It is 14:03.", "messages": [user("Why?"), assistant("So.")]}
    b = {"model": "scripted", "system": "It is 14:05.", "messages": [user("Why?"), assistant("So."), user("And?")]}
    found = server.http.post("/v1/messages/compare", json={"a": a, "b": b}).json()
    assert found["a"]["input_tokens"] < found["b"]["input_tokens"]
    assert found["a"]["at_divergence"] == {
        **found["b"]["at_divergence"],
        "text": "3",
        "id": found["a"]["at_divergence"]["id"],
    }
    assert (found["b"]["at_divergence"]["text"], found["b"]["at_divergence"]["segment"]) == ("5", "system")
    assert found["b"]["at_divergence"]["position"] == found["common_tokens"]
    longer = server.http.post("/v1/messages/compare", json={"a": a, "b": {**b, "system": a["system"]}}).json()
    assert longer["a"]["at_divergence"] is None
    assert longer["common_tokens"] == longer["a"]["input_tokens"]
    requests = [line for line in before.splitlines() if line.startswith("recount_inference_requests")]
    assert requests == [
        line for line in server.http.get("/metrics").text.splitlines() if line.startswith("recount_inference_requests")
    ]


def test_a_wrong_side_of_a_comparison_is_named(server: Served) -> None:
    a = {"model": "scripted", "messages": [user("Why?")]}
    status, _, message = refused(server.http.post("/v1/messages/compare", json={"a": a, "b": {**a, "messages": []}}))
    assert (status, message.split(":")[0]) == (400, "b.messages")
    assert refused(server.http.post("/v1/messages/compare", json={"a": a, "b": {**a, "model": "x"}}))[0] == 404


def test_what_is_forgotten_is_not_read_any_more(server: Served, turns: tuple[dict, dict], script: Script) -> None:
    first, second = turns
    script.say([])
    other = server.ask([user("Something else")], system="Be short.")
    shared = other["usage"]["cache_read_input_tokens"]
    assert shared > 0
    gone = server.http.post("/v1/messages/forget", json={"ids": [first["id"], second["id"], "msg_none"]}).json()
    held = prompt_tokens(second["usage"]) + second["usage"]["output_tokens"] - 1
    assert gone == {"forgotten": 2, "freed_slots": held - shared, "running": []}
    server.scheduler.check()
    assert server.http.get(f"/v1/messages/{first['id']}/tokens").status_code == 404
    assert server.http.get(f"/v1/messages/{other['id']}/tokens").status_code == 200
    script.say([])
    again = server.ask([QUESTION], system="Be short.")
    assert again["usage"]["cache_read_input_tokens"] == shared
    assert again["prefix_cache"]["outcome"] == "cold"
    script.say([])
    assert server.ask([user("Something else")], system="Be short.")["prefix_cache"]["outcome"] == "hit"


def test_the_cache_as_a_whole(server: Served, turns: tuple[dict, dict]) -> None:
    cache = server.http.get("/v1/cache").json()
    held = prompt_tokens(turns[1]["usage"]) + turns[1]["usage"]["output_tokens"] - 1
    assert cache["slots"] == {"total": 4096, "free": 4096 - held, "cached": held, "live": 0}
    assert (cache["scopes"], cache["records"], cache["running"], cache["waiting"]) == (1, 2, 0, 0)
    assert cache["serving_id"] == turns[0]["prefix_cache"]["serving_id"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages/msg_1/tokens"),
        ("POST", "/v1/messages/msg_1/attention"),
        ("POST", "/v1/messages/compare"),
        ("POST", "/v1/messages/forget"),
        ("GET", "/v1/cache"),
    ],
)
def test_inspection_needs_the_key_and_a_server_that_has_one(
    server: Served, tokenizer: TextTokenizer, script: Script, method: str, path: str
) -> None:
    assert httpx.request(method, server.url + path, trust_env=False).status_code == 401
    with serve_scripted(tokenizer, OracleRunner(64, script), key=None) as open_server:
        assert refused(open_server.http.request(method, path))[:2] == (403, "permission_error")
