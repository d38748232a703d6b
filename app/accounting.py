"""Derived token figures and the expected cache read of a turn; pure.

A figure is None as soon as one of its parts was not reported: unknown is never 0.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reported:
    """The four usage fields under their wire names, in tokens; None where not reported."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def prompt_tokens(self) -> int | None:
        return _sum(self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens)

    @property
    def computed_tokens(self) -> int | None:
        return _sum(self.input_tokens, self.cache_creation_input_tokens)

    @property
    def cached_tokens(self) -> int | None:
        return self.cache_read_input_tokens

    def cached_in_blocks(self, size: int) -> int | None:
        """What an engine that reuses whole blocks of `size` tokens only would have read."""
        return None if self.cached_tokens is None else self.cached_tokens // size * size

    @property
    def kv_tokens_at_end(self) -> int | None:
        """Prompt and output without the last sampled token, which is never fed back."""
        return _sum(self.prompt_tokens, self.output_tokens, -1)


@dataclass(frozen=True, slots=True)
class ExpectedRead:
    """What the next turn should read from the cache, in tokens; `minimum`: at least that."""

    tokens: int | None
    minimum: bool


def expected_read(base: Reported | None, *, stop_reason: str | None = None) -> ExpectedRead:
    """What a question after `base` should read: I + O - 1.

    Only I, as a minimum, where O is unknown or a stop string ended the answer. None where
    there is no base turn or its prompt was not reported.
    """
    if base is None or base.prompt_tokens is None:
        return ExpectedRead(None, False)
    if base.output_tokens is None or stop_reason == "stop_sequence":
        return ExpectedRead(base.prompt_tokens, True)
    return ExpectedRead(base.prompt_tokens + base.output_tokens - 1, False)


def expected_reread(base: Reported) -> ExpectedRead:
    """What the same prompt once more should read: I - 1, because one token must be computed to have logits."""
    return ExpectedRead(_sum(base.prompt_tokens, -1), False)


def shortfall(expected: int | None, reported: Reported) -> int | None:
    """Expected tokens that were computed again; None where a part is unknown."""
    readable, cached = capped(expected, reported), reported.cached_tokens
    return None if readable is None or cached is None else max(0, readable - cached)


def capped(expected: int | None, reported: Reported) -> int | None:
    """What can be expected of this prompt, whose last token is always computed; None where a part is unknown."""
    prompt = reported.prompt_tokens
    return None if expected is None or prompt is None else min(expected, prompt - 1)


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
