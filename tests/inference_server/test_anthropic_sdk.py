"""The official SDK as the client, unchanged: its types, its errors, its request ids."""

from collections.abc import Iterator

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic

from tests.inference_server.serving import KEY, Served, prompt_tokens, user

BODY = {"model": "tiny", "max_tokens": 8, "messages": [user("Hello from the SDK")]}


@pytest.fixture
def client(tiny: Served) -> Iterator[Anthropic]:
    with Anthropic(base_url=tiny.url, api_key=KEY, max_retries=0) as client:
        yield client


def test_a_message_has_the_sdk_s_shape(client: Anthropic) -> None:
    message = client.messages.create(**BODY, extra_body={"temperature": 0})
    assert (message.type, message.role, message.model) == ("message", "assistant", "tiny")
    assert message.content[0].type == "text"
    assert message.stop_reason in ("end_turn", "max_tokens")
    assert message._request_id is not None
    assert message._request_id.startswith("req_")
    counted = client.messages.count_tokens(model="tiny", messages=BODY["messages"])
    assert prompt_tokens(message.usage.model_dump()) == counted.input_tokens


def test_a_stream_accumulates_to_the_same_message(client: Anthropic) -> None:
    whole = client.messages.create(**BODY, extra_body={"temperature": 0})
    with client.messages.stream(**BODY, extra_body={"temperature": 0}) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
        assert stream.request_id is not None
    assert "".join(pieces) == final.content[0].text == whole.content[0].text
    assert (final.stop_reason, final.usage.output_tokens) == (whole.stop_reason, whole.usage.output_tokens)
    assert final.usage.cache_read_input_tokens == prompt_tokens(whole.usage.model_dump()) - 1


@pytest.mark.anyio
async def test_the_async_client_works_too(tiny: Served) -> None:
    async with AsyncAnthropic(base_url=tiny.url, api_key=KEY, max_retries=0) as client:
        async with client.messages.stream(**BODY) as stream:
            final = await stream.get_final_message()
        assert final.usage.output_tokens > 0


def test_errors_arrive_as_the_sdk_s_classes(client: Anthropic, tiny: Served) -> None:
    with pytest.raises(anthropic.BadRequestError, match=r"messages: .*at least 1 item") as refused:
        client.messages.create(**{**BODY, "messages": []})
    assert refused.value.request_id is not None
    with pytest.raises(anthropic.NotFoundError, match="'tiny' is"):
        client.messages.create(**{**BODY, "model": "other"})
    with (
        Anthropic(base_url=tiny.url, api_key="wrong", max_retries=0) as stranger,
        pytest.raises(anthropic.AuthenticationError),
    ):
        stranger.messages.create(**BODY)


def test_models_are_listed(client: Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").display_name == "Tiny test model"
