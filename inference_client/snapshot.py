"""Adds up the events of one answer and holds them to their order. Knows nothing of where they come from."""

from dataclasses import replace

from inference_client.errors import ProtocolError
from inference_client.events import (
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    Ping,
    StreamEvent,
    TextDelta,
)
from inference_client.messages import Message, Usage

_NOTHING_YET = Message(id="", model="", text="", stop_reason=None, stop_sequence=None, usage=Usage())


class Snapshot:
    """Order: pings anywhere; `message_start` first and once; blocks numbered from 0, one after the other."""

    def __init__(self) -> None:
        self._message: Message | None = None
        self._texts: list[str] = []
        self._blocks = 0
        self._open_block: int | None = None

    @property
    def message(self) -> Message:
        """All that has come so far; id and model are empty before `message_start`."""
        return replace(self._message or _NOTHING_YET, text="".join(self._texts))

    def add(self, event: StreamEvent) -> None:
        """Raises ProtocolError for an event out of order, and is then as it was before."""
        match event:
            case Ping():
                return
            case MessageStart(message):
                self._start(message)
            case _ if self._message is None:
                raise ProtocolError(f"{type(event).__name__} came before MessageStart")
            case BlockStart(index):
                self._start_block(index)
            case TextDelta(index, text):
                self._expect_open(index)
                self._texts.append(text)
            case BlockStop(index):
                self._expect_open(index)
                self._open_block = None
            case MessageDelta():
                self._message = _ended(self._message, event)

    def _start(self, message: Message) -> None:
        if self._message is not None:
            raise ProtocolError("MessageStart came twice")
        self._message = message
        self._texts = [message.text]

    def _start_block(self, index: int) -> None:
        if self._open_block is not None or index != self._blocks:
            raise ProtocolError(f"block {index} started out of order")
        self._open_block = index
        self._blocks += 1

    def _expect_open(self, index: int) -> None:
        if index != self._open_block:
            raise ProtocolError(f"an event for block {index}, which is not open")


def _ended(message: Message, event: MessageDelta) -> Message:
    return replace(
        message,
        stop_reason=event.stop_reason or message.stop_reason,
        stop_sequence=event.stop_sequence or message.stop_sequence,
        usage=message.usage.updated(event.usage),
    )
