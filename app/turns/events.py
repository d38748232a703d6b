"""The events of a turn's append-only log, numbered from 1 without gaps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

EventKind: TypeAlias = Literal["start", "status", "delta", "usage", "reset", "end"]


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """`data` by kind (all JSON):

    start   {"turn_id"}
    status  {"phase": "queued" | "reading" | "writing", "place"?, "total"?, "cached"?, "processed"?}
    delta   {"text"}: append it
    usage   the four usage fields, null where not reported
    reset   {"text", "cursor"}: replace all text; the text stands for events up to `cursor`
    end     {"status", "stop_reason", "error_type", "error_message"}: nothing comes after it
    """

    seq: int
    kind: EventKind
    data: Mapping[str, JsonValue]
