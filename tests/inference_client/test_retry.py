import pytest

from inference_client import (
    ConnectFailed,
    ConnectionLost,
    FirstTokenTimeout,
    IdleTimeout,
    InferenceError,
    ProtocolError,
    RetryPolicy,
    StatusError,
)


def status(code: int, retry_after: float | None = None) -> StatusError:
    return StatusError(code, "some_error", "No.", retry_after=retry_after)


@pytest.mark.parametrize(
    "error", [ConnectFailed(), ConnectionLost(), *(status(code) for code in (408, 429, 500, 502, 503, 529))]
)
def test_passing_failure_is_retried(error: InferenceError) -> None:
    assert RetryPolicy().delay(1, error) is not None


@pytest.mark.parametrize(
    "error",
    [
        FirstTokenTimeout(),
        IdleTimeout(),
        ProtocolError(),
        *(status(code) for code in (307, 400, 401, 404, 409, 413)),
    ],
)
def test_lasting_failure_is_not_retried(error: InferenceError) -> None:
    assert RetryPolicy().delay(1, error) is None


def test_attempts_are_counted_in_total() -> None:
    policy = RetryPolicy(attempts=3)
    assert policy.delay(2, ConnectFailed()) is not None
    assert policy.delay(3, ConnectFailed()) is None


def test_delay_doubles_up_to_the_limit() -> None:
    policy = RetryPolicy(attempts=9, base_delay=0.5, max_delay=3.0, jitter=lambda: 1.0)
    assert [policy.delay(attempt, ConnectFailed()) for attempt in (1, 2, 3, 4, 5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_jitter_takes_off_up_to_half() -> None:
    assert RetryPolicy(base_delay=4.0, jitter=lambda: 0.0).delay(1, ConnectFailed()) == 2.0
    assert RetryPolicy(base_delay=4.0, jitter=lambda: 0.5).delay(1, ConnectFailed()) == 3.0


def test_retry_after_replaces_the_delay() -> None:
    assert RetryPolicy(max_delay=8.0).delay(1, status(529, 20.0)) == 20.0
    assert RetryPolicy().delay(1, status(529, 0.0)) == 0.0


def test_retry_after_that_is_too_long_is_left_to_the_caller() -> None:
    assert RetryPolicy(max_retry_after=60.0).delay(1, status(429, 60.5)) is None
