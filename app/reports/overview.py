"""What the operator's overview shows, as values: numbers and references, never titles or text.

Rates are kept as their two sums. A figure is None where no turn of the selection has it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.cache_outcomes import Outcome
from app.conversations.paging import MomentMark
from app.reports.marks import RankMark


@dataclass(frozen=True, slots=True)
class Selection:
    """Which turns are looked at: those accepted from `since` (None: from the first on) until before `until`.

    Imported turns and probes are never among them.
    """

    since: datetime | None
    until: datetime
    model: str | None = None
    backend: str | None = None
    owner_id: UUID | None = None

    @property
    def before(self) -> "Selection | None":
        """The period of the same length in front; None where there is none."""
        if self.since is None:
            return None
        return Selection(self.since - (self.until - self.since), self.since, self.model, self.backend, self.owner_id)


@dataclass(frozen=True, slots=True)
class Sum:
    """`tokens` over the `turns` that have the figure."""

    tokens: int
    turns: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Sum over sum, with the number of turns that have both; `of` may be 0, which is no rate."""

    part: int
    of: int
    turns: int


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of one time, in milliseconds. `exact`: from the rows themselves, else from buckets that are at most 2% wide."""

    p50: float
    p95: float
    p99: float
    turns: int
    exact: bool


@dataclass(frozen=True, slots=True)
class FirstTokenTimes:
    """The whole wait and its parts; None where no turn has it."""

    total: Percentiles | None
    queued: Percentiles | None
    admission: Percentiles | None
    prefill: Percentiles | None


@dataclass(frozen=True, slots=True)
class Tiles:
    """`turns`: all of the selection. `by_status` counts them by their state, live ones included.

    `reuse`: sum of min(cached, expected) over sum of what could be expected. `lost`: over the turns of which it is
    known whether they lost any; `losing_turns` of them did. `hits`: turns that missed nothing over turns that could
    have (`part` and `of` are turns there). `law_mismatches`: turns whose server promised something else than the
    cache law.
    """

    turns: int
    reuse: Rate
    lost: Sum
    losing_turns: int
    hits: Rate
    first_token: FirstTokenTimes
    by_status: dict[str, int]
    law_mismatches: int


@dataclass(frozen=True, slots=True)
class ProblemKey:
    outcome: Outcome
    backend: str | None
    model: str | None


@dataclass(frozen=True, slots=True)
class Problem:
    """One cause on one backend with one model.

    `lost_tokens`: the shortfall of its turns, which only a fault has lost. `is_new`: not seen in the 7 days before the
    selection; never where the selection has no beginning. `ongoing`: among the last 10 turns of that backend and
    model, or in the last hour. `diverged_where`, `diverged_offset` and `diverged_kind` are those of the worst turn.
    """

    key: ProblemKey
    turns: int
    conversations: int
    users: int
    lost_tokens: int
    first_seen: datetime
    last_seen: datetime
    is_new: bool
    ongoing: bool
    worst_turn_id: UUID
    worst_conversation_id: UUID | None
    worst_lost_tokens: int
    diverged_where: str | None
    diverged_offset: int | None
    diverged_kind: str | None


@dataclass(frozen=True, slots=True)
class Problems:
    """Most lost first. What was computed again on purpose, or for the size of blocks, is no fault and is neither new
    nor ongoing."""

    faults: tuple[Problem, ...]
    on_purpose: tuple[Problem, ...]
    rounding: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Bucket:
    """One step of the chart. The five layers add up to the prompt tokens of the turns that reported them."""

    start: datetime
    turns: int
    cached: int
    new: int
    on_purpose: int
    lost: int
    rounding: int
    first_token_p50_ms: float | None
    first_token_p95_ms: float | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A server start, an app start or a changed setting."""

    kind: str
    at: datetime
    backend: str | None
    serving_id: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Series:
    """`step` between the buckets, oldest first, idle ones too; they begin at whole steps of the zone's clock.

    `exact`: the percentiles come from the rows themselves, else from buckets of times that are at most 2% wide.
    """

    step: timedelta
    exact: bool
    buckets: tuple[Bucket, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class RankedConversation:
    """`main_cause` is the fault that lost most; None where nothing was lost. `deleted`: only its numbers are left."""

    id: UUID
    reference: str
    owner_name: str
    turns: int
    prompt: Sum
    cached: Sum
    reuse: Rate
    lost: Sum
    main_cause: Outcome | None
    slowest_first_token_ms: int | None
    last_turn_at: datetime
    deleted: bool


@dataclass(frozen=True, slots=True)
class RankingPage:
    """`after` is the mark of the next page; None where this is the last one."""

    rows: tuple[RankedConversation, ...]
    after: RankMark | None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Of one conversation in a ranking: the one above it and the one below it."""

    previous: UUID | None
    next: UUID | None


@dataclass(frozen=True, slots=True)
class ErrorCount:
    error_type: str
    turns: int
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class ListedTurn:
    """One turn of the selection, for the list of all turns of a problem.

    `expected_is_minimum`: at least so many were expected, so that more may have come from the cache. `lost_tokens`: 0
    where it could lose nothing, None where it has not ended or not reported.
    """

    id: UUID
    conversation_id: UUID | None
    reference: str | None
    owner_name: str | None
    kind: str
    status: str
    outcome: Outcome
    backend: str | None
    model: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    expected_tokens: int | None
    expected_is_minimum: bool
    shortfall_tokens: int | None
    lost_tokens: int | None
    first_token_ms: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Newest first. `after` is the mark of the next page; None where this is the last one."""

    rows: tuple[ListedTurn, ...]
    after: MomentMark | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Plain sums; prompt = cached + computed = cached + new + on purpose + lost + rounding.

    `turns`: all of the selection; each sum has its own number of turns that have the figure.
    """

    turns: int
    prompt: Sum
    cached: Sum
    computed: Sum
    output: Sum
    lost: Sum
    on_purpose: Sum
    rounding: Sum


@dataclass(frozen=True, slots=True)
class LiveTurns:
    """Now, whatever is selected."""

    running: int
    queued: int


@dataclass(frozen=True, slots=True)
class Overview:
    """`before` is None where nothing is compared. `worst` lost something each; `totals` are by backend."""

    tiles: Tiles
    before: Tiles | None
    series: Series
    live: LiveTurns
    problems: Problems
    worst: tuple[RankedConversation, ...]
    errors: tuple[ErrorCount, ...]
    totals: dict[str, Totals]


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """What the filters can be set to: backends and models with turns, users (id and name) with conversations."""

    models: tuple[str, ...]
    backends: tuple[str, ...]
    users: tuple[tuple[UUID, str], ...]
