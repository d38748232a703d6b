"""What Redis keeps of a turn, and the commands that change it, each of them whole or not at all.

    recount:turn:<id>:events  stream: an entry per event, its id is `<seq>-0`; the oldest are trimmed
    recount:turn:<id>:text    string: the answer's whole text, that of trimmed events too; no log without it

All commands may be repeated: a connection that breaks does not tell whether the last one arrived.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast
from uuid import UUID

from app.turns.bus.log import LONGEST_LOG
from app.turns.events import EventKind, TurnEvent

CANCEL_CHANNEL = "recount:cancel"
GONE = b"gone"
LIVE_MS = 3_600_000  # How long a log without news outlives a process that was killed.

Word: TypeAlias = str | int
Entry: TypeAlias = tuple[bytes, dict[bytes, bytes]]

# Readers are told by a last entry behind all others: one that waits for a key does not notice that it is deleted.
_BURY = """
local function bury(keep)
  redis.call('DEL', KEYS[1], KEYS[2])
  redis.call('XADD', KEYS[1], '18446744073709551615-0', 'kind', 'gone')
  redis.call('PEXPIRE', KEYS[1], keep)
  return 'gone'
end
"""
_OPEN = """
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[1])
return 'open'
"""
_APPEND = """
local seq, kind, data, text, longest, ttl, keep = unpack(ARGV)
if redis.call('EXISTS', KEYS[2]) == 0 then return bury(keep) end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last and tonumber(string.match(last[1], '^%d+')) >= tonumber(seq) then return 'repeated' end
redis.call('XADD', KEYS[1], 'MAXLEN', longest, seq .. '-0', 'kind', kind, 'data', data)
redis.call('APPEND', KEYS[2], text)
redis.call('PEXPIRE', KEYS[1], ttl)
redis.call('PEXPIRE', KEYS[2], ttl)
return 'appended'
"""
_DROP = """
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then return 'gone' end
return bury(ARGV[1])
"""


@dataclass(frozen=True, slots=True)
class Order:
    """A command for Redis. `turn_id` is the turn whose log it writes."""

    turn_id: UUID | None
    words: tuple[Word, ...]


def events_key(turn_id: UUID) -> str:
    return f"recount:turn:{turn_id}:events"


def text_key(turn_id: UUID) -> str:
    return f"recount:turn:{turn_id}:text"


def open_log(turn_id: UUID, text: str) -> Order:
    return _script(_OPEN, turn_id, LIVE_MS, text)


def append(turn_id: UUID, event: TurnEvent, keep_ms: int) -> Order:
    text = str(event.data["text"]) if event.kind == "delta" else ""
    ttl = keep_ms if event.kind == "end" else LIVE_MS
    data = json.dumps(dict(event.data))
    return _script(_BURY + _APPEND, turn_id, event.seq, event.kind, data, text, LONGEST_LOG, ttl, keep_ms)


def drop(turn_id: UUID, keep_ms: int) -> Order:
    return _script(_BURY + _DROP, turn_id, keep_ms)


def cancel(turn_id: UUID) -> Order:
    return Order(None, ("PUBLISH", CANCEL_CHANNEL, str(turn_id)))


def _script(source: str, turn_id: UUID, *arguments: Word) -> Order:
    # The source every time: Redis forgets its scripts when it starts again, and compiles each only once.
    return Order(turn_id, ("EVAL", source, 2, events_key(turn_id), text_key(turn_id), *arguments))


def number_of(entry: Entry) -> int:
    return int(entry[0].partition(b"-")[0])


def events_of(entries: Sequence[Entry]) -> list[TurnEvent | Literal["gone"]]:
    return ["gone" if entry[1][b"kind"] == GONE else _event(entry) for entry in entries]


def _event(entry: Entry) -> TurnEvent:
    fields = entry[1]
    return TurnEvent(number_of(entry), cast("EventKind", fields[b"kind"].decode()), json.loads(fields[b"data"]))
