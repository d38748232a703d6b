"""The outcome of a turn: one word for why its prompt was read from the cache or computed again; pure.

It knows neither SQL nor words for people. What the app knows and what the server said come in as `Evidence`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.accounting import ExpectedRead, Reported, capped, shortfall


class Group(StrEnum):
    CANNOT_TELL = "cannot_tell"
    NOTHING_MISSED = "nothing_missed"
    ON_PURPOSE = "on_purpose"
    DEPLOYMENT = "deployment"
    REQUEST = "request"
    CAPACITY = "capacity"
    GRANULARITY = "granularity"
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """As they are stored."""

    PENDING = "pending"
    NOT_SENT = "not_sent"
    NOT_REPORTED = "not_reported"
    FIRST_TURN = "first_turn"
    HIT = "hit"
    MODEL_SWITCHED = "model_switched"
    SYSTEM_PROMPT_EDITED = "system_prompt_edited"
    HISTORY_TRIMMED = "history_trimmed"
    CACHING_OFF = "caching_off"
    OTHER_REPLICA = "other_replica"
    RESTARTED = "restarted"
    VOLATILE_SYSTEM_PROMPT = "volatile_system_prompt"
    TEMPLATE_REWROTE = "template_rewrote"
    RETOKENIZED = "retokenized"
    PREFIX_CHANGED = "prefix_changed"
    STILL_COMPUTING = "still_computing"
    EVICTED = "evicted"
    EXPIRED = "expired"
    BLOCK_ROUNDING = "block_rounding"
    UNKNOWN = "unknown"

    @property
    def group(self) -> Group:
        return _GROUPS[self]

    @property
    def is_fault(self) -> bool:
        """Whether its shortfall counts as lost tokens."""
        return self.group in FAULT_GROUPS


FAULT_GROUPS: Final = frozenset({Group.DEPLOYMENT, Group.REQUEST, Group.CAPACITY})
_GROUPS: Final[Mapping[Outcome, Group]] = {
    Outcome.PENDING: Group.CANNOT_TELL,
    Outcome.NOT_SENT: Group.CANNOT_TELL,
    Outcome.NOT_REPORTED: Group.CANNOT_TELL,
    Outcome.FIRST_TURN: Group.NOTHING_MISSED,
    Outcome.HIT: Group.NOTHING_MISSED,
    Outcome.MODEL_SWITCHED: Group.ON_PURPOSE,
    Outcome.SYSTEM_PROMPT_EDITED: Group.ON_PURPOSE,
    Outcome.HISTORY_TRIMMED: Group.ON_PURPOSE,
    Outcome.CACHING_OFF: Group.ON_PURPOSE,
    Outcome.OTHER_REPLICA: Group.DEPLOYMENT,
    Outcome.RESTARTED: Group.DEPLOYMENT,
    Outcome.VOLATILE_SYSTEM_PROMPT: Group.REQUEST,
    Outcome.TEMPLATE_REWROTE: Group.REQUEST,
    Outcome.RETOKENIZED: Group.REQUEST,
    Outcome.PREFIX_CHANGED: Group.REQUEST,
    Outcome.STILL_COMPUTING: Group.CAPACITY,
    Outcome.EVICTED: Group.CAPACITY,
    Outcome.EXPIRED: Group.CAPACITY,
    Outcome.BLOCK_ROUNDING: Group.GRANULARITY,
    Outcome.UNKNOWN: Group.UNKNOWN,
}
ON_PURPOSE: Final = frozenset(outcome for outcome in Outcome if outcome.group is Group.ON_PURPOSE)
FAULTS: Final = frozenset(outcome for outcome in Outcome if outcome.is_fault)

# What the server calls it. `hit` and `cold` say nothing of a shortfall, and a name that we do not know neither.
_SAID_BY_SERVER: Final[Mapping[str, Outcome]] = {
    "changed": Outcome.PREFIX_CHANGED,
    "evicted": Outcome.EVICTED,
    "still_computing": Outcome.STILL_COMPUTING,
    "template_rewrote": Outcome.TEMPLATE_REWROTE,
    "retokenized": Outcome.RETOKENIZED,
    "stop_split": Outcome.RETOKENIZED,
    "disabled": Outcome.CACHING_OFF,
}
# The server has compared with what came back of an answer, not with all that was said.
_LOWERS_ITS_EXPECTATION: Final = frozenset({"retokenized", "stop_split"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the outcome of one turn follows from.

    `has_base`: there is an earlier turn here whose KV it could read. `known_cause` is what the app knew of it before
    the request: one on purpose, `volatile_system_prompt`, `prefix_changed`, or None. `served_by` is where it went as
    seen from its base turn: None for the same server, as far as is known, else `restarted` or `other_replica`.
    `server_outcome` is the server's own word. `granularity` is the block of tokens that the backend reuses as a whole,
    in tokens; None for a backend that reuses nothing. `outlived`: more time has passed than the backend keeps a prompt.
    """

    live: bool
    sent: bool
    reported: Reported
    expected: ExpectedRead
    has_base: bool
    known_cause: Outcome | None = None
    served_by: Outcome | None = None
    server_outcome: str | None = None
    server_expected: int | None = None
    granularity: int | None = 1
    outlived: bool = False

    @property
    def shortfall(self) -> int | None:
        return shortfall(self.expected.tokens, self.reported)


def name_outcome(evidence: Evidence) -> Outcome:
    """The first that holds, in the order of the groups: who has missed nothing needs no cause."""
    if evidence.live:
        return Outcome.PENDING
    if not evidence.sent:
        return Outcome.NOT_SENT
    if evidence.reported.prompt_tokens is None or evidence.reported.cached_tokens is None:
        return Outcome.NOT_REPORTED
    if not evidence.has_base:
        return Outcome.FIRST_TURN
    if evidence.shortfall == 0:
        return Outcome.HIT
    causes = [cause for cause in _causes(evidence) if cause is not None]
    return min(causes, key=list(Outcome).index, default=Outcome.UNKNOWN)


def _causes(evidence: Evidence) -> list[Outcome | None]:
    missed, granularity = evidence.shortfall, evidence.granularity
    rounded = missed is not None and granularity is not None and missed < granularity
    return [
        evidence.known_cause,
        evidence.served_by,
        _SAID_BY_SERVER.get(evidence.server_outcome or ""),
        Outcome.CACHING_OFF if granularity is None else None,
        Outcome.EXPIRED if evidence.outlived else None,
        Outcome.BLOCK_ROUNDING if rounded else None,
    ]


def is_law_mismatch(evidence: Evidence) -> bool | None:
    """Whether the server itself promised something else than the cache law; None where one of the two says nothing."""
    ours = capped(evidence.expected.tokens, evidence.reported)
    theirs = evidence.server_expected
    if ours is None or theirs is None or evidence.server_outcome in _LOWERS_ITS_EXPECTATION:
        return None
    return theirs < ours if evidence.expected.minimum else theirs != ours
