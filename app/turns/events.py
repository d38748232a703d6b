"""The events of a turn's append-only log, numbered from 1 without gaps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

EventKind: TypeAlias = Literal["start", "status", "delta", "block", "open", "preview", "usage", "reset", "end"]


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """`data` by kind (all JSON):

    start   {"turn_id"}
    status  {"phase": "queued" | "reading" | "writing", "place"?, "total"?, "cached"?, "processed"?}
    delta   {"text"}: append it
    block   {"html", "start", "chars"}: one finished block stands for the text from `start` to `chars`
    open    {"start", "chars", "language", "fence"}: behind `start` a code fence is open; its code begins at `chars`
    preview {"html", "start", "chars"}: how the text from `start` to `chars` looks while its block is open
    usage   the four usage fields, null where not reported
    reset   {"text", "cursor"}: replace all that is shown; the text stands for events up to `cursor`
    end     {"status", "stop_reason", "error_type", "error_message"}: nothing comes after it

    `start` and `chars` count the text from its beginning, in UTF-16 units as browsers do; a block's `chars` is the
    next one's `start`. HTML is sanitised and is about text of earlier deltas.
    """

    seq: int
    kind: EventKind
    data: Mapping[str, JsonValue]
