"""One measured conversation: what is sent, what is counted, and how it ends when the server refuses."""

import pytest

from benchmarks.chat import Chat, Exchange
from benchmarks.servers import opened
from inference_client import InferenceError, Usage
from tests.scripted_backend import CUT, MODELS, ScriptedBackend, answer, delta, error_reply, message_start

pytestmark = pytest.mark.anyio

COLD = {"input_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def warm(read: int, *, new: int) -> dict[str, int]:
    return {"input_tokens": new - 4, "cache_creation_input_tokens": 4, "cache_read_input_tokens": read}


async def asked(url: str, *questions: str) -> Chat:
    async with opened({"first": url}) as (server,):
        chat = Chat(server, "seed")
        for question in questions:
            await chat.ask(question, 16)
    return chat


async def test_chat_resends_its_history_with_the_real_answers(url: str, backend: ScriptedBackend) -> None:
    backend.script(*answer("An", "swer."))
    await asked(url, "One?", "Two?")
    first, second = (question.json() for question in backend.questions)
    assert (first["model"], first["max_tokens"], first["temperature"]) == ("scripted", 16, 0)
    assert second["system"] == first["system"]
    assert second["messages"] == [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Answer."},
        {"role": "user", "content": "Two?"},
    ]


async def test_exact_read_is_prompt_and_output_less_one(url: str, backend: ScriptedBackend) -> None:
    backend.script(*answer("a", usage=COLD, output_tokens=5))
    backend.script(*answer("b", usage=warm(24, new=10), output_tokens=7))  # 20 + 5 - 1
    backend.script(*answer("c", usage=warm(39, new=10), output_tokens=7))  # One less than 34 + 7 - 1.
    chat = await asked(url, "One?", "Two?", "Three?")
    assert [exchange.prompt_tokens for exchange in chat.exchanges] == [20, 34, 49]
    assert chat.expected_reads == [24, 40]
    assert chat.exact_reads == 1


async def test_read_that_is_not_reported_is_not_exact(url: str, backend: ScriptedBackend) -> None:
    for _ in range(2):
        backend.script(*answer("a", usage={"output_tokens": 1}))
    chat = await asked(url, "One?", "Two?")
    assert chat.expected_reads == [None]
    assert chat.exact_reads == 0


async def test_chat_asks_no_more_after_a_refusal(url: str, backend: ScriptedBackend) -> None:
    backend.script(*answer("a"))
    backend.script(error_reply(400, "invalid_request_error", "The prompt is too long."))
    chat = await asked(url, "One?", "Two?", "Three?")
    assert len(chat.exchanges) == 1
    assert chat.refusal == "turn 2: InvalidRequest: invalid_request_error (400): The prompt is too long."
    assert len(backend.questions) == 2


@pytest.mark.parametrize("torn", [True, False], ids=["torn", "without an end"])
async def test_answer_that_breaks_off_is_a_refusal(url: str, backend: ScriptedBackend, torn: bool) -> None:
    backend.script(message_start(), delta("Part"), *([CUT] if torn else []))
    chat = await asked(url, "One?")
    assert chat.refusal is not None
    assert chat.exchanges == []


def test_decode_rate_is_of_the_tokens_behind_the_first() -> None:
    assert Exchange(1.0, 3.0, Usage(output_tokens=11), "text").decode_tokens_per_s == 5.0


@pytest.mark.parametrize(("first_token_s", "output_tokens"), [(1.0, 1), (1.0, None), (None, 11)])
def test_decode_rate_is_unknown_without_two_tokens(first_token_s: float | None, output_tokens: int | None) -> None:
    exchange = Exchange(first_token_s, 3.0, Usage(output_tokens=output_tokens), "text")
    assert exchange.decode_tokens_per_s is None


async def test_server_without_a_model_cannot_be_measured(url: str, backend: ScriptedBackend) -> None:
    backend.models = []
    with pytest.raises(InferenceError, match="first serves no model"):
        await asked(url, "One?")


async def test_server_that_lists_no_models_cannot_be_measured(url: str, backend: ScriptedBackend) -> None:
    backend.script(error_reply(503, "overloaded_error"), path=MODELS)
    with pytest.raises(InferenceError):
        await asked(url, "One?")
