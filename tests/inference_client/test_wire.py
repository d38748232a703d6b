import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from inference_client import (
    AuthenticationFailed,
    InvalidRequest,
    Message,
    Model,
    NotFound,
    Overloaded,
    ProtocolError,
    RateLimited,
    RequestTooLarge,
    ServerFault,
    StatusError,
    Usage,
)
from inference_client.wire import (
    parse_message,
    parse_models,
    parse_retry_after,
    parse_status_error,
    parse_token_count,
)


def test_message_joins_its_text_blocks() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "a", "citations": None},
        {"type": "text", "text": "b"},
    ]
    body = {"id": "msg_1", "model": "m", "content": content, "stop_reason": "end_turn", "container": None}
    usage = {"input_tokens": 8, "cache_read_input_tokens": 0, "output_tokens": 3}
    assert parse_message(json.dumps({**body, "usage": usage}).encode()) == Message(
        "msg_1", "m", "ab", "end_turn", None, Usage(8, None, 0, 3)
    )


def test_models_tell_their_window_only_when_given() -> None:
    data = [{"id": "a", "display_name": "A", "max_input_tokens": 8192}, {"id": "b", "max_input_tokens": None}]
    assert parse_models(json.dumps({"data": data, "has_more": False}).encode()) == [
        Model("a", "A", 8192),
        Model("b", "b", None),
    ]


def test_token_count_of_zero_is_a_count() -> None:
    assert parse_token_count(b'{"input_tokens": 0}') == 0


@pytest.mark.parametrize("body", [b"", b"secret", b"[]", b'{"input_tokens": "secret"}', b'{"input_tokens": null}'])
def test_wrong_answer_is_refused_without_quoting_it(body: bytes) -> None:
    with pytest.raises(ProtocolError) as raised:
        parse_token_count(body)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (307, StatusError),
        (400, InvalidRequest),
        (401, AuthenticationFailed),
        (402, StatusError),
        (403, AuthenticationFailed),
        (404, NotFound),
        (409, StatusError),
        (413, RequestTooLarge),
        (429, RateLimited),
        (500, ServerFault),
        (503, ServerFault),
        (504, ServerFault),
        (529, Overloaded),
    ],
)
def test_status_error_has_the_class_of_its_status(status: int, expected: type[StatusError]) -> None:
    body = b'{"type": "error", "error": {"type": "t", "message": "m"}, "request_id": "r"}'
    error = parse_status_error(status, {}, body)
    assert type(error) is expected
    assert (error.status, error.type, error.message, error.request_id) == (status, "t", "m", "r")
    assert error.retry_after is None
    assert str(error) == f"t ({status}): m"


@pytest.mark.parametrize(
    ("error_type", "expected"),
    [("overloaded_error", Overloaded), ("rate_limit_error", RateLimited), ("api_error", ServerFault)],
)
def test_unavailable_backend_is_overloaded_only_if_it_says_so(error_type: str, expected: type[StatusError]) -> None:
    body = json.dumps({"type": "error", "error": {"type": error_type, "message": "m"}}).encode()
    assert type(parse_status_error(503, {}, body)) is expected


def test_status_error_takes_headers_first() -> None:
    headers = {"request-id": "from_header", "retry-after": "2"}
    error = parse_status_error(529, headers, b'{"error": {}, "request_id": "from_body"}')
    assert (error.request_id, error.retry_after) == ("from_header", 2.0)


@pytest.mark.parametrize("body", [b"", b"<html>secret</html>", b'{"detail": "secret"}', b'{"error": "secret"}'])
def test_status_error_without_a_known_body_says_the_status(body: bytes) -> None:
    error = parse_status_error(502, {}, body)
    assert error.type == "unknown_error"
    assert error.message == "The backend answered with HTTP status 502."


@pytest.mark.parametrize(
    ("value", "expected"), [(None, None), ("0", 0.0), (" 7 ", 7.0), ("-1", None), ("soon", None), ("nan", None)]
)
def test_retry_after_is_a_number_of_seconds(value: str | None, expected: float | None) -> None:
    assert parse_retry_after(value) == expected


def test_retry_after_may_be_a_date() -> None:
    now = datetime.now(UTC)
    ahead = parse_retry_after(format_datetime(now + timedelta(hours=1), usegmt=True))
    assert ahead is not None
    assert 3000 < ahead <= 3600
    assert parse_retry_after(format_datetime(now - timedelta(hours=1), usegmt=True)) == 0.0
