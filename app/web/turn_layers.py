"""What a turn's prompt is made of, in tokens: one sum in five layers, as tables and charts show it; pure."""

from dataclasses import dataclass

from app.cache_outcomes import Group, Outcome
from app.conversations.figures import TurnFigures

ROUNDING = frozenset({Group.GRANULARITY, Group.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Layers:
    """The five add up to the prompt. `new` was never expected from the cache, or nobody can tell."""

    cached: int
    new: int
    on_purpose: int
    lost: int
    rounding: int


def layers_of(figures: TurnFigures) -> Layers | None:
    """None where prompt or hit is unknown."""
    prompt, cached = figures.prompt_tokens, figures.cached_tokens
    if prompt is None or cached is None:
        return None
    missed, group = figures.shortfall_tokens or 0, figures.outcome.group
    on_purpose = missed if group is Group.ON_PURPOSE else 0
    rounding = missed if group in ROUNDING else 0
    lost = lost_tokens(figures) or 0
    return Layers(cached, prompt - cached - on_purpose - lost - rounding, on_purpose, lost, rounding)


def lost_tokens(figures: TurnFigures) -> int | None:
    """The shortfall of a fault; 0 for every other ended turn that has reported, also for a first one, which has none.

    None for one that has not ended or not reported, as in the sums of the reports.
    """
    if figures.prompt_tokens is None or figures.cached_tokens is None or figures.outcome is Outcome.PENDING:
        return None
    return figures.shortfall_tokens if figures.fault else 0
