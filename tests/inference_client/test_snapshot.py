import pytest

from inference_client import (
    BlockStart,
    BlockStop,
    Message,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    ProtocolError,
    StreamEvent,
    TextDelta,
    Usage,
)
from inference_client.snapshot import Snapshot
from tests.inference_client.recordings import EVENTS, TEXTS

START = MessageStart(Message("msg_1", "m", "", None, None, Usage(input_tokens=8, cache_read_input_tokens=19)))


def snapshot_of(*events: StreamEvent) -> Message:
    snapshot = Snapshot()
    for event in events:
        snapshot.add(event)
    return snapshot.message


def test_snapshot_is_empty_before_the_start() -> None:
    assert snapshot_of(Ping()) == Message("", "", "", None, None, Usage())


def test_snapshot_joins_the_text_and_takes_the_ending() -> None:
    assert snapshot_of(*EVENTS) == Message("msg_1", "m", "".join(TEXTS), "end_turn", None, Usage(8, None, 19, 4))


def test_snapshot_joins_blocks() -> None:
    blocks: list[StreamEvent] = [
        BlockStart(0), TextDelta(0, "a"), BlockStop(0), BlockStart(1), TextDelta(1, "b"), Ping(), BlockStop(1),
    ]  # fmt: skip
    assert snapshot_of(START, *blocks, MessageStop()).text == "ab"


def test_snapshot_keeps_text_of_the_start() -> None:
    started = MessageStart(Message("msg_1", "m", "al", None, None, Usage()))
    assert snapshot_of(started, BlockStart(0), TextDelta(0, "so")).text == "also"


def test_usage_values_overwrite_and_missing_ones_keep() -> None:
    first = MessageDelta(None, None, Usage(cache_read_input_tokens=0, output_tokens=2))
    last = MessageDelta("end_turn", None, Usage(output_tokens=5))
    assert snapshot_of(START, first).usage == Usage(8, None, 0, 2)
    assert snapshot_of(START, first, last).usage == Usage(8, None, 0, 5)


def test_output_tokens_are_unknown_without_message_delta() -> None:
    assert snapshot_of(START, BlockStart(0), TextDelta(0, "Part")).usage.output_tokens is None


def test_stop_reason_is_kept_by_a_later_null() -> None:
    ended = MessageDelta("stop_sequence", "END", Usage())
    message = snapshot_of(START, ended, MessageDelta(None, None, Usage()))
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "END")


@pytest.mark.parametrize(
    ("before", "event"),
    [
        ([], BlockStart(0)),
        ([], TextDelta(0, "x")),
        ([], MessageDelta("end_turn", None, Usage())),
        ([], MessageStop()),
        ([START], START),
        ([START], TextDelta(0, "x")),
        ([START], BlockStop(0)),
        ([START], BlockStart(1)),
        ([START, BlockStart(0)], BlockStart(0)),
        ([START, BlockStart(0)], BlockStart(1)),
        ([START, BlockStart(0)], TextDelta(1, "x")),
        ([START, BlockStart(0), BlockStop(0)], TextDelta(0, "x")),
        ([START, BlockStart(0), BlockStop(0)], BlockStart(0)),
    ],
)
def test_event_out_of_order_is_refused_and_changes_nothing(before: list[StreamEvent], event: StreamEvent) -> None:
    snapshot = Snapshot()
    for earlier in before:
        snapshot.add(earlier)
    kept = snapshot.message
    with pytest.raises(ProtocolError):
        snapshot.add(event)
    assert snapshot.message == kept
