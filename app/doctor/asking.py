"""One probe request and what came of it, on the wire: what was absent, null or 0, and when each part came."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.accounting import Reported
from inference_client import InferenceClient, Message, MessageDelta, MessageStart, Snapshot, TextDelta, parse_event

FIELDS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
ABSENT: Final = "absent"


@dataclass(slots=True)
class Asked:
    """Times are seconds since the request; None for what did not come.

    `start` and `end` are the usage objects of `message_start` and of the last `message_delta`, as they were sent.
    `told` is the message object of `message_start`.
    """

    message: Message = field(default_factory=lambda: Snapshot().message)
    told: Mapping[str, Any] = field(default_factory=dict)
    start: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] = field(default_factory=dict)
    started: float | None = None
    texts: list[float] = field(default_factory=list)

    @property
    def reported(self) -> Reported:
        """The last number of each field that is one; what `message_start` says of the output is a placeholder."""
        early = {name: self.start.get(name) for name in FIELDS[:-1]}
        late = {name: self.end.get(name) for name in FIELDS}
        return Reported(**{name: _number(late[name], _number(early.get(name))) for name in FIELDS})

    def usage_words(self) -> tuple[str, str]:
        """Each field with its number, `null` or `absent`: of the start, and of the end."""
        return _usage_words(self.start), _usage_words(self.end)


async def ask(
    client: InferenceClient, body: Mapping[str, object], headers: Mapping[str, str], monotonic: Callable[[], float]
) -> Asked:
    """InferenceError, as for any request; there is no limit of time on the answer but the caller's."""
    asked, snapshot, begun = Asked(), Snapshot(), monotonic()
    async with client.wire_events(body, headers) as events:
        async for wire in events:
            for event in parse_event(wire.name, wire.data):
                snapshot.add(event)
                match event:
                    case MessageStart():
                        asked.started = monotonic() - begun
                        asked.told = json.loads(wire.data)["message"]
                        asked.start = asked.told.get("usage") or {}
                    case TextDelta():
                        asked.texts.append(monotonic() - begun)
                    case MessageDelta():
                        asked.end = json.loads(wire.data).get("usage") or {}
    asked.message = snapshot.message
    return asked


def _number(value: object, otherwise: int | None = None) -> int | None:
    return value if isinstance(value, int) else otherwise


def _usage_words(usage: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(usage.get(name, ABSENT))}" for name in FIELDS)


def _shown(value: object) -> object:
    return "null" if value is None else value
