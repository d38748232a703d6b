"""The same turn sent in another way, and what it would have read from the cache then; pure.

**As it was** is what the model server reported: a fact. Nothing is computed anew.

**In blocks** is what it read, rounded down to whole blocks, as an engine reads that keeps whole blocks only.

In every way a turn loses what the turn before had left. One that was promised nothing, such as the first of a
conversation, loses nothing, whatever it read of what others had left.

**With the clock in the system prompt** the time note of every question is left out, and the system prompt ends with the
time at which the turn was sent, to the minute, in the zone of its question's note. Two such prompts, that of the turn
and that of its base turn, are compared by the server that served the turn, token by token. What the turn then reads is
the smallest of

- `common`, the tokens that both prompts share. Where the two clocks differ, the prompts part inside the clock, in the
  system prompt of the base turn, all of whose tokens have KV. So this is exact: nothing behind it can be read, whatever
  was answered.
- what the cache law promises of a base turn with so many prompt tokens and its own output tokens: I + O - 1, or I - 1
  for the same prompt again. Two turns in one minute have the same clock, so the law alone decides. Their `common` is
  left aside: it could count the end token of the answer, which has no KV, and an answer that is encoded again from its
  text may have other tokens than the model has said.
- what it really read, where that was less than the law promises: KV that was gone would have been gone.

A turn that nothing is promised of is compared with itself as it was sent. Of what it read, say from a system prompt
that other conversations share, it would have read what both prompts share.

The prompt tokens are what the server counts in such a prompt now. They may differ by a few from what a conversation
would have had that was sent in this way from its first turn on, where an answer's text encodes to other tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from app import prompt
from app.accounting import Reported, expected_read, expected_reread
from app.context_note import write_note, zone_of_note
from app.conversations import TurnFigures
from app.models import Turn
from app.verification.rebuilding import Rebuilt
from app.what_if.values import Read
from inference_client import Comparison

BLOCK_TOKENS: Final = 16
"""The usual block of engines that reuse whole blocks only."""

SystemPromptWithClock: TypeAlias = Callable[[str, datetime, str | None], str]
"""Of a system prompt, an instant, and the name of a zone or None for one that is not known."""


def clock_at_the_end(system_prompt: str, at: datetime, zone: str | None) -> str:
    """As the context note writes it."""
    note = write_note(at, zone, None)
    return f"{system_prompt}\n\n{note}" if system_prompt else note


@dataclass(frozen=True, slots=True)
class ClockedRequest:
    """A request with the clock in its system prompt."""

    system_prompt: str
    body: prompt.Body


def with_clock(rebuilt: Rebuilt, written: SystemPromptWithClock = clock_at_the_end) -> ClockedRequest:
    notes = [node.context_note for node in rebuilt.path if node.role == "user"]
    zone = zone_of_note(notes[-1] if notes else None)
    system_prompt = written(rebuilt.system_prompt, rebuilt.turn.created_at, zone)
    path = tuple(replace(node, context_note=None) for node in rebuilt.path)
    return ClockedRequest(system_prompt, replace(rebuilt, system_prompt=system_prompt, path=path).body)


def as_it_was(figures: TurnFigures) -> Read | None:
    """None where prompt or cached tokens were not reported."""
    prompt_tokens, cached = figures.prompt_tokens, figures.cached_tokens
    if prompt_tokens is None or cached is None:
        return None
    return Read(prompt_tokens, cached, (figures.shortfall_tokens or 0) if figures.fault else 0)


def in_blocks(real: Read, *, promised: bool) -> Read:
    """`promised`: the turn before had left something for it."""
    cached = real.cached // BLOCK_TOKENS * BLOCK_TOKENS
    return Read(real.prompt, cached, real.lost + real.cached - cached if promised else 0)


def promises(turn: Turn, base: Turn | None) -> bool:
    """Whether the base turn's KV is what this turn should have read. Models share nothing."""
    return base is not None and turn.expected_read_tokens is not None and turn.model == base.model


def read_alone(real: Read, comparison: Comparison, *, promised: bool) -> Read:
    """With the clock, of a turn whose base turn cannot be compared; `a` of the comparison is the turn as it was sent.

    `promised`: a turn before had left something for it.
    """
    prompt_tokens = comparison.b.input_tokens
    cached = min(real.cached, comparison.common_tokens, prompt_tokens - 1)
    lost = min(real.lost + real.cached - cached, prompt_tokens - cached) if promised else 0
    return Read(prompt_tokens, cached, lost)


def read_behind(turn: Turn, base: Turn, real: Read, comparison: Comparison, *, same_clock: bool) -> Read:
    """With the clock, of a turn behind its base turn; `a` of the comparison is the base turn with its own clock."""
    prompt_tokens, short = comparison.b.input_tokens, turn.shortfall_tokens or 0
    readable = min(_promised(turn, base, comparison.a.input_tokens), prompt_tokens - 1)
    cached = readable if same_clock else min(readable, comparison.common_tokens)
    if short:
        cached = min(cached, real.cached)
    excused = 0 if turn.fault else short
    return Read(prompt_tokens, cached, max(0, readable - cached - excused))


def _promised(turn: Turn, base: Turn, base_prompt_tokens: int) -> int:
    """By the cache law, of a base turn whose prompt has so many tokens."""
    reported = Reported(base_prompt_tokens, 0, 0, base.output_tokens)
    again = turn.kind in ("regenerate", "retry") and base.user_message_id == turn.user_message_id
    if again and base.kind != "continue":
        promised = expected_reread(reported)
    else:
        promised = expected_read(reported, stop_reason=base.stop_reason)
    assert promised.tokens is not None, "the prompt's tokens are known"
    return promised.tokens
