"""The sums under a conversation's turn table, each with the number of turns that it covers; pure.

A shortfall has three reasons with a sum each: a fault lost it, it was on purpose, or it is rounding or unknown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.cache_outcomes import Group
from app.conversations.figures import TurnFigures
from app.web.turn_layers import ROUNDING, lost_tokens


@dataclass(frozen=True, slots=True)
class Total:
    """`tokens` is None where no turn has the figure; `covered` turns out of all are in the sum."""

    tokens: int | None
    covered: int


@dataclass(frozen=True, slots=True)
class TurnTotals:
    """The `rate` parts are summed over the turns that have both, so it is a share of tokens, not of turns.

    `shortfall` = `lost` + `on_purpose` + `rounding`; the last two cover only the turns whose outcome says so,
    and `lost` also those that could lose nothing.
    """

    turns: int
    prompt: Total
    cached: Total
    computed: Total
    written: Total
    expected: Total
    shortfall: Total
    lost: Total
    on_purpose: Total
    rounding: Total
    rate_cached: int
    rate_prompt: int
    rate_covered: int


def totals_of(turns: Sequence[TurnFigures]) -> TurnTotals:
    both = [
        (turn.cached_tokens, turn.prompt_tokens)
        for turn in turns
        if turn.cached_tokens is not None and turn.prompt_tokens is not None
    ]
    return TurnTotals(
        turns=len(turns),
        prompt=_total(turns, lambda turn: turn.prompt_tokens),
        cached=_total(turns, lambda turn: turn.cached_tokens),
        computed=_total(turns, lambda turn: turn.computed_tokens),
        written=_total(turns, lambda turn: turn.output_tokens),
        expected=_total(turns, lambda turn: turn.expected_read_tokens),
        shortfall=_total(turns, lambda turn: turn.shortfall_tokens),
        lost=_total(turns, lost_tokens),
        on_purpose=_total(turns, shortfall_on_purpose),
        rounding=_total(turns, lambda turn: turn.shortfall_tokens if turn.outcome.group in ROUNDING else None),
        rate_cached=sum(cached for cached, _ in both),
        rate_prompt=sum(prompt for _, prompt in both),
        rate_covered=len(both),
    )


def shortfall_on_purpose(turn: TurnFigures) -> int | None:
    """In tokens; None for a turn whose outcome is another one."""
    return turn.shortfall_tokens if turn.outcome.group is Group.ON_PURPOSE else None


def _total(turns: Sequence[TurnFigures], figure: Callable[[TurnFigures], int | None]) -> Total:
    known = [value for value in map(figure, turns) if value is not None]
    return Total(sum(known) if known else None, len(known))
