"""The worked example: one conversation of four questions, token-exact, through the whole server.

The tokenizer is a table and the model is a script; prompt building, transcripts, radix tree, scheduler, engine and
accounting are the real ones, and the figures are read from the wire.
"""

from collections.abc import Iterator

import pytest

from app.accounting import Reported
from tests.inference_server.serving import Served, assistant, prompt_tokens, user
from tests.inference_server.worked_example import CLOCK, EXAMPLE, IDS, serve_worked_example


@pytest.fixture
def server() -> Iterator[Served]:
    with serve_worked_example() as served:
        yield served


def test_the_closing_marker_has_the_id_ten() -> None:
    assert IDS["</assistant>"] == 10


def test_every_number_of_the_worked_example(server: Served) -> None:
    messages = []
    for turn in EXAMPLE["turns"]:
        messages.append(user(turn["user"]))
        assert server.count(messages, system=EXAMPLE["system"]) == turn["input_total"]
        reply = server.ask(messages, system=EXAMPLE["system"], max_tokens=turn["max_tokens"])
        answer = reply["content"][0]["text"]
        assert answer == turn["answer"] == "".join(turn["answer_pieces"])
        usage = reply["usage"]
        assert prompt_tokens(usage) == turn["input_total"] == len(turn["prompt_pieces"])
        assert usage["cache_read_input_tokens"] == turn["cache_read"]
        assert usage["input_tokens"] + usage["cache_creation_input_tokens"] == turn["computed"]
        assert usage["output_tokens"] == turn["output_tokens"]
        assert reply["stop_reason"] == turn["stop_reason"]
        assert Reported(**usage).kv_tokens_at_end == turn["kv_tokens_at_end"]
        assert Reported(**usage).cached_in_blocks(16) == turn["cache_read_with_16_token_blocks"]
        assert server.scheduler.tree.num_resident == turn["kv_tokens_at_end"]
        messages.append(assistant(answer))


def test_a_clock_in_the_system_prompt_loses_all_behind_it(server: Served) -> None:
    variant = EXAMPLE["time_in_system"]
    messages = []
    for turn in EXAMPLE["turns"][:2]:
        messages += [user(turn["user"]), assistant(turn["answer"])]
    messages.append(user(EXAMPLE["turns"][2]["user"]))
    before = server.ask(messages, system=EXAMPLE["system"] + CLOCK + "03", max_tokens=1024)
    assert before["content"][0]["text"] == "".join(variant["previous_answer_pieces"])

    messages += [assistant(EXAMPLE["turns"][2]["answer"]), user(EXAMPLE["turns"][3]["user"])]
    usage = server.ask(messages, system=EXAMPLE["system"] + CLOCK + "05", max_tokens=8)["usage"]
    read = usage["cache_read_input_tokens"]
    assert (prompt_tokens(usage), read, prompt_tokens(usage) - read) == (59, 11, 48)
    assert (variant["input_total"], variant["cache_read"], variant["computed"]) == (59, 11, 48)


def test_the_comparison_tells_it_without_running_anything(server: Served) -> None:
    messages = []
    for turn in EXAMPLE["turns"][:3]:
        messages += [user(turn["user"]), assistant(turn["answer"])]
    before = {"model": "table", "system": EXAMPLE["system"] + CLOCK + "03", "messages": messages}
    now = [*messages, user(EXAMPLE["turns"][3]["user"])]
    sides = {"a": before, "b": {"model": "table", "system": EXAMPLE["system"] + CLOCK + "05", "messages": now}}
    found = server.http.post("/v1/messages/compare", json=sides).json()
    total, common = found["b"]["input_tokens"], found["common_tokens"]
    assert (total, common, total - common) == (59, 11, 48)
    at = {"position": 11, "segment": "system"}
    assert found["a"]["at_divergence"] == {**at, "id": IDS["03"], "text": "03"}
    assert found["b"]["at_divergence"] == {**at, "id": IDS["05"], "text": "05"}
    assert server.scheduler.tree.num_resident == 0


def test_the_made_up_attention_row_is_shown_with_its_remainder(server: Served) -> None:
    """Turn 3 at position 34, as the model's row would come in."""
    made_up = EXAMPLE["attention_row"]
    messages = []
    for turn in EXAMPLE["turns"][: made_up["turn"] + 1]:
        messages.append(user(turn["user"]))
        reply = server.ask(messages, system=EXAMPLE["system"], max_tokens=turn["max_tokens"])
        messages.append(assistant(turn["answer"]))
    asked = {"position": made_up["position"], "layer": 0, "head": 0, "top": len(made_up["weights"])}
    shown = server.http.post(f"/v1/messages/{reply['id']}/attention", json=asked).json()
    heaviest = {str(item["position"]): round(item["weight"], 6) for item in shown["top"]}
    assert heaviest == made_up["weights"]
    assert shown["remainder"]["positions"] == made_up["other_positions"]
    assert shown["remainder"]["weight"] == pytest.approx(made_up["other_weight"])
