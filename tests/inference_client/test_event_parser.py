import json

import pytest

from inference_client import (
    AuthenticationFailed,
    BlockStart,
    InvalidRequest,
    Message,
    MessageDelta,
    MessageStart,
    NotFound,
    Overloaded,
    Ping,
    ProtocolError,
    RateLimited,
    RequestTooLarge,
    ServerFault,
    StatusError,
    TextDelta,
    Usage,
)
from inference_client.event_parser import parse_event


def parse(data: object, name: str = "message") -> list[object]:
    return list(parse_event(name, json.dumps(data)))


def message_start(usage: object) -> dict[str, object]:
    return {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage}}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"input_tokens": 8, "cache_read_input_tokens": None}, Usage(input_tokens=8)),
        ({"input_tokens": 0, "cache_read_input_tokens": 0}, Usage(0, None, 0, None)),
        ({"cache_creation_input_tokens": 3, "cache_creation": {"ephemeral_5m": 3}}, Usage(None, 3, None, None)),
    ],
)
def test_usage_tells_absent_from_zero(usage: object, expected: Usage) -> None:
    assert parse(message_start(usage)) == [MessageStart(Message("msg_1", "m", "", None, None, expected))]


def test_message_start_has_no_output_tokens() -> None:
    assert parse(message_start({"output_tokens": 1})) == parse(message_start({}))


def test_message_delta_reports_what_it_holds() -> None:
    data = {"type": "message_delta", "delta": {"stop_reason": "stop_sequence", "stop_sequence": "END"}}
    assert parse(data) == [MessageDelta("stop_sequence", "END", Usage())]
    assert parse({**data, "usage": {"output_tokens": 0}}) == [
        MessageDelta("stop_sequence", "END", Usage(output_tokens=0))
    ]


def test_block_that_opens_with_text_gives_a_delta_too() -> None:
    data = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hel"}}
    assert parse(data) == [BlockStart(0), TextDelta(0, "Hel")]


@pytest.mark.parametrize(
    "delta",
    [
        {"type": "text_delta", "text": ""},
        {"type": "thinking_delta", "thinking": "hm", "text": "hm"},
        {"type": "input_json_delta", "partial_json": "{"},
    ],
)
def test_delta_without_shown_text_gives_no_event(delta: object) -> None:
    assert parse({"type": "content_block_delta", "index": 0, "delta": delta}) == []


@pytest.mark.parametrize(
    "data",
    [
        '{"type": "ping"}',
        '{"type": "ping", "queue": "long"}',
        '{"type": "ping", "prefill": {"total": 5}}',
        '{"type": "ping", "queue": null, "prefill": null}',
        "2026-01-01 00:00:00",
    ],
)
def test_ping_of_any_form_is_a_ping(data: str) -> None:
    assert parse_event("ping", data) == (Ping(),)


@pytest.mark.parametrize(("name", "data"), [("news", "not JSON"), ("message", '{"type": "news"}'), ("ping2", "{}")])
def test_unknown_event_is_ignored(name: str, data: str) -> None:
    assert parse_event(name, data) == ()


def test_event_name_stands_in_for_a_missing_type() -> None:
    assert parse({"index": 0, "delta": {"type": "text_delta", "text": "x"}}, "content_block_delta") == [
        TextDelta(0, "x")
    ]


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("message_start", "secret", "not JSON"),
        ("message_start", '["secret"]', "not a JSON object"),
        ("message_start", '{"type": "message_start", "message": {"id": "secret"}}', "message.model"),
        ("content_block_delta", '{"index": 0, "delta": {"type": "text_delta", "text": ["secret"]}}', "delta.text"),
        ("content_block_delta", '{"index": "secret", "delta": {"type": "text_delta"}}', "index"),
        ("message", "[DONE] secret", "not JSON"),
        ("message_stop", "[" * 100_000 + "secret", "not JSON"),
    ],
)
def test_wrong_data_is_named_but_not_quoted(name: str, data: str, problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem) as raised:
        parse_event(name, data)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("error_type", "expected"),
    [
        ("invalid_request_error", InvalidRequest),
        ("authentication_error", AuthenticationFailed),
        ("permission_error", AuthenticationFailed),
        ("not_found_error", NotFound),
        ("request_too_large", RequestTooLarge),
        ("rate_limit_error", RateLimited),
        ("overloaded_error", Overloaded),
        ("api_error", ServerFault),
        ("error_of_tomorrow", ServerFault),
    ],
)
def test_error_event_raises_the_class_of_its_type(error_type: str, expected: type[StatusError]) -> None:
    data = json.dumps({"type": "error", "error": {"type": error_type, "message": "No."}})
    with pytest.raises(expected) as raised:
        parse_event("error", data, "req_1")
    error = raised.value
    assert type(error) is expected
    assert (error.status, error.type, error.message, error.request_id) == (200, error_type, "No.", "req_1")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("message", '{"type": "error", "error": {"type": "overloaded_error", "message": "m"}, "request_id": "r"}'),
        ("message", '{"error": {"type": "overloaded_error", "message": "m", "code": 529}, "request_id": "r"}'),
        ("error", '{"error": {"type": "overloaded_error", "message": "m"}, "request_id": "r"}'),
        (
            "error",
            '{"type": "content_block_de\n'
            '{"type": "error", "error": {"type": "overloaded_error", "message": "m"}, "request_id": "r"}',
        ),
        (
            "content_block_delta",
            '{"type": "contevent: error\n'
            '{"type": "error", "error": {"type": "overloaded_error", "message": "m"}, "request_id": "r"}',
        ),
    ],
)
def test_error_is_found_in_every_known_dress(name: str, data: str) -> None:
    with pytest.raises(Overloaded) as raised:
        parse_event(name, data)
    assert (raised.value.message, raised.value.request_id) == ("m", "r")


def test_error_without_words_is_a_server_fault() -> None:
    with pytest.raises(ServerFault, match="no reason"):
        parse({"type": "error", "error": {}})


def test_torn_event_is_not_mended_by_what_is_no_error() -> None:
    with pytest.raises(ProtocolError, match="not JSON"):
        parse_event("content_block_delta", '{"type": "conte\n{"type": "ping"}')
