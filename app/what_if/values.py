"""What a what-if shows, as values: numbers and a reference, never titles or text."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from app.conversations import TurnFigures
from app.reports import BranchRow


class Obstacle(StrEnum):
    """Why a turn could not be tried with the clock in the system prompt."""

    NO_FIGURES = "no_figures"
    DELETED = "deleted"
    OTHER_BACKEND = "other_backend"
    NO_INSPECTION = "no_inspection"
    AWAY = "away"
    REFUSED = "refused"
    NO_MODEL = "no_model"
    FAILED = "failed"
    TIME_UP = "time_up"


@dataclass(frozen=True, slots=True)
class Read:
    """What one prompt reads, in tokens.

    `lost` is what was there for it and was computed all the same, without what its owner has computed again on purpose.
    """

    prompt: int
    cached: int
    lost: int

    @property
    def computed(self) -> int:
        return self.prompt - self.cached


@dataclass(frozen=True, slots=True)
class TurnWhatIf:
    """One turn as it was (`real`, from what was reported), in blocks, and with the clock in the system prompt.

    `real` and `blocks` are None where prompt and cached tokens were not reported; `clock` is None exactly where there
    is an `obstacle`. `tokens_per_second` is the measured speed of its backend; None where nothing was measured.
    """

    number: int
    figures: TurnFigures
    real: Read | None
    blocks: Read | None
    clock: Read | None
    obstacle: Obstacle | None
    tokens_per_second: float | None

    def seconds(self, tokens: int) -> float | None:
        """How long its backend would compute so many tokens."""
        if tokens == 0:
            return 0.0
        return None if self.tokens_per_second is None else tokens / self.tokens_per_second


@dataclass(frozen=True, slots=True)
class Sums:
    """Over `turns` turns. `lost_seconds` is None where a turn that lost something has no measured speed."""

    turns: int
    prompt: int
    cached: int
    computed: int
    lost: int
    lost_seconds: float | None


@dataclass(frozen=True, slots=True)
class ConversationWhatIf:
    """`turns` are those of the branch that ends with `leaf_id`, and those whose messages were deleted.

    `branches` are all that there are; `leaf_id` is None where no message is left.
    """

    id: UUID
    reference: str
    turns: tuple[TurnWhatIf, ...]
    branches: tuple[BranchRow, ...] = ()
    leaf_id: UUID | None = None

    @property
    def compared(self) -> tuple[TurnWhatIf, ...]:
        return tuple(turn for turn in self.turns if turn.clock is not None)

    @property
    def comparable(self) -> int:
        """Turns that have figures to put something beside."""
        return sum(turn.real is not None for turn in self.turns)

    @property
    def obstacles(self) -> dict[Obstacle, int]:
        """With how many turns each has kept, but for those that have no figures at all."""
        met = [turn.obstacle for turn in self.turns if turn.obstacle not in (None, Obstacle.NO_FIGURES)]
        return {obstacle: met.count(obstacle) for obstacle in Obstacle if obstacle in met}

    @property
    def real(self) -> Sums:
        return _sums(self.turns, lambda turn: turn.real)

    @property
    def real_compared(self) -> Sums:
        """Of the turns that were tried with the clock in the system prompt."""
        return _sums(self.compared, lambda turn: turn.real)

    @property
    def clock(self) -> Sums:
        return _sums(self.turns, lambda turn: turn.clock)

    @property
    def blocks(self) -> Sums:
        return _sums(self.turns, lambda turn: turn.blocks)

    def more_seconds(self, variant: Callable[[TurnWhatIf], Read | None]) -> float | None:
        """What a variant computes more than the turns did, less being negative; None where a speed is missing."""
        return _sum_of_times(
            turn.seconds(read.computed - turn.real.computed)
            for turn in self.turns
            if turn.real is not None and (read := variant(turn)) is not None
        )


def _sums(turns: Iterable[TurnWhatIf], read_of: Callable[[TurnWhatIf], Read | None]) -> Sums:
    known = [(turn, read) for turn in turns if (read := read_of(turn)) is not None]
    return Sums(
        turns=len(known),
        prompt=sum(read.prompt for _, read in known),
        cached=sum(read.cached for _, read in known),
        computed=sum(read.computed for _, read in known),
        lost=sum(read.lost for _, read in known),
        lost_seconds=_sum_of_times(turn.seconds(read.lost) for turn, read in known),
    )


def _sum_of_times(times: Iterable[float | None]) -> float | None:
    known = list(times)
    return None if None in known else sum(time for time in known if time is not None)
