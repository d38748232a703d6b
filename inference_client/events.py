"""The events of a streamed answer, as values."""

from dataclasses import dataclass

from inference_client.messages import Message, Usage


@dataclass(frozen=True)
class MessageStart:
    """`output_tokens` is None here: what backends send at this point is a placeholder."""

    message: Message


@dataclass(frozen=True)
class BlockStart:
    index: int


@dataclass(frozen=True)
class TextDelta:
    """New text, never empty; the text of an answer is all of them joined."""

    index: int
    text: str


@dataclass(frozen=True)
class BlockStop:
    index: int


@dataclass(frozen=True)
class MessageDelta:
    """`usage` holds what this event reports, as totals."""

    stop_reason: str | None
    stop_sequence: str | None
    usage: Usage


@dataclass(frozen=True)
class MessageStop:
    pass


@dataclass(frozen=True)
class Prefill:
    """Progress in tokens: `total` of the prompt, `cached` of them reused, `processed` computed so far."""

    total: int
    cached: int
    processed: int


@dataclass(frozen=True)
class Ping:
    """A sign of life. The bundled server adds the place in its queue or the progress of the prefill."""

    queue_position: int | None = None
    prefill: Prefill | None = None


StreamEvent = MessageStart | BlockStart | TextDelta | BlockStop | MessageDelta | MessageStop | Ping
