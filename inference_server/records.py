"""What ran: the newest requests by their message id, for reasons and inspection. Bounded by bytes.

A record keeps token ids and digests of messages, never their text. The event loop owns them all.
"""

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from inference_server.sequence import Sequence as EngineSequence
from inference_server.text.chat_template import ChatMessage
from inference_server.text.prompt import Prompt

TEMPLATE = "template"
_RECORD_BYTES = 1000  # A record's own size, apart from its ids and parts.
_PART_BYTES = 100
_ID_BYTES = 4


@dataclass(frozen=True, slots=True)
class Record:
    """A request that was admitted. ``digests`` and ``places`` are of its messages, neighbours of a role merged."""

    sequence: EngineSequence
    prompt: Prompt
    digests: tuple[bytes, ...]
    places: tuple[str, ...]

    @property
    def id(self) -> str:
        """The message's id on the wire."""
        return self.sequence.id

    @property
    def question_digests(self) -> tuple[bytes, ...]:
        """Of the messages in front of the answer; one that the request has begun itself is part of the answer."""
        return self.digests if self.prompt.prefill is None else self.digests[:-1]

    @property
    def held(self) -> "array[int]":
        """Every token that has KV when all is computed: the last sampled one is never fed back."""
        return self.prompt.tokens + self.sequence.output[:-1]

    @property
    def size(self) -> int:
        """Bytes, roughly; an answer counts as long as it may become."""
        tokens = len(self.prompt.tokens) + self.sequence.max_tokens
        return _RECORD_BYTES + _PART_BYTES * len(self.prompt.parts) + _ID_BYTES * tokens


class Records:
    """The newest ones, by id and by the conversation that they answered."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._newest: dict[bytes, str] = {}  # by the key of the conversation up to the question
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record) -> None:
        """Keep a request, and give up the oldest ones that there is no room for; the newest always stays."""
        self._records[record.id] = record
        self._newest[record.prompt.key] = record.id
        self._bytes += record.size
        while self._bytes > self._max_bytes and len(self._records) > 1:
            self.drop(next(iter(self._records.values())))

    def get(self, message_id: str) -> Record | None:
        """The request with this id, whoever sent it."""
        return self._records.get(message_id)

    def before(self, prompt: Prompt) -> Record | None:
        """The request that this prompt follows: the newest one of the longest known beginning of its conversation."""
        newest = next((self._newest[key] for key in reversed(prompt.keys) if key in self._newest), None)
        return None if newest is None else self._records[newest]

    def drop(self, record: Record) -> None:
        """Give up a request that is known."""
        del self._records[record.id]
        self._bytes -= record.size
        if self._newest[record.prompt.key] == record.id:
            del self._newest[record.prompt.key]


def place(prompt: Prompt, places: Sequence[str], position: int) -> str:
    """Whose a prompt's token is: ``system``, ``messages.i`` or ``template``. ``places`` are of its messages."""
    message = prompt.message_at(position)
    return TEMPLATE if message is None else places[message]


def digests(messages: Sequence[ChatMessage]) -> tuple[bytes, ...]:
    """What tells one message from another, for each of them."""
    return tuple(hashlib.sha256(f"{message.role}\0{message.text}".encode()).digest() for message in messages)
