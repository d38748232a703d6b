"""Why a request read what it read from the prefix cache. Pure.

A request is compared with the one that it follows, its base. Whatever of the base has KV can come back, so ``promised``
tokens are read by a request that only continues it; where the two part, no more than what lies in front can be read.
"""

import enum
from array import array
from dataclasses import dataclass

from inference_server.radix_tree import common_prefix
from inference_server.records import TEMPLATE, Record, place
from inference_server.text.tokenizer import TextTokenizer


class Outcome(enum.Enum):
    """The wire's names."""

    HIT = "hit"
    COLD = "cold"
    """No request is known that this one follows."""
    CHANGED = "changed"
    """A message is another one than it was."""
    EVICTED = "evicted"
    """The KV was given up for other requests."""
    STILL_COMPUTING = "still_computing"
    """The base had not computed so far: it was stopped inside its prompt."""
    TEMPLATE_REWROTE = "template_rewrote"
    """The messages are the same, but the chat template writes something else around them now."""
    RETOKENIZED = "retokenized"
    """The text is the same in other tokens: those that the model had said are forgotten."""
    STOP_SPLIT = "stop_split"
    """The answer came back cut inside a token."""
    DISABLED = "disabled"
    """The server runs without a prefix cache."""


@dataclass(frozen=True, slots=True)
class CacheReason:
    """``expected`` is None where nothing was promised.

    ``diverged_at`` is the first token that is another one than the base's, and ``diverged_in`` whose it is: ``system``,
    ``messages.i`` or ``template``. Both are None where what is expected has not changed.
    """

    outcome: Outcome
    expected: int | None
    matched: int
    diverged_at: int | None = None
    diverged_in: str | None = None

    @property
    def missed(self) -> int:
        """Tokens that were expected and had to be computed."""
        return max(0, (self.expected or 0) - self.matched)


def explain(request: Record, base: Record | None, tokenizer: TextTokenizer) -> CacheReason:
    """The reason of a request that has been admitted. ``base`` is the one that it follows, where that is known."""
    tokens, matched = request.prompt.tokens, request.sequence.cached_tokens or 0
    limit = len(tokens) - 1  # The last token is always computed, because its logits are needed.
    if base is None:
        known = request.sequence.known_tokens
        return (
            CacheReason(Outcome.EVICTED, known, matched)
            if known > matched
            else CacheReason(Outcome.COLD, None, matched)
        )
    common = common_prefix(base.held, tokens)
    readable, promised = min(common, limit), min(len(base.held), limit)
    if matched >= promised:
        return CacheReason(Outcome.HIT, promised, matched)
    outcome, expected, where = Outcome.HIT, promised, None
    if readable < promised:
        outcome, expected, where = _divergence(request, base, common, promised, tokenizer)
    if outcome is not Outcome.CHANGED and matched < readable:
        outcome = Outcome.STILL_COMPUTING if base.sequence.peak < readable else Outcome.EVICTED
    return CacheReason(outcome, min(expected, promised), matched, None if where is None else common, where)


def _divergence(
    request: Record, base: Record, common: int, promised: int, tokenizer: TextTokenizer
) -> tuple[Outcome, int, str | None]:
    """Why the token at ``common`` is another one: (reason, what could be expected, whose the token is)."""
    question = base.question_digests
    pairs = enumerate(zip(question, request.digests, strict=False))
    changed = next((index for index, (before, now) in pairs if before != now), None)
    if changed is not None:
        return Outcome.CHANGED, promised, request.places[changed]
    if common >= base.prompt.answer_start:
        return _answer_divergence(request, base, common, promised, tokenizer)
    where = place(request.prompt, request.places, common)
    return Outcome.TEMPLATE_REWROTE if where == TEMPLATE else Outcome.RETOKENIZED, promised, where


def _answer_divergence(
    request: Record, base: Record, common: int, promised: int, tokenizer: TextTokenizer
) -> tuple[Outcome, int, str | None]:
    """The same for a token behind the question. An answer that was stopped comes back shorter than it was said."""
    message = len(base.question_digests)
    where = request.places[message]
    start = base.prompt.answer_start
    said, resent = (base.prompt.tokens + base.sequence.output)[start:], request.prompt.tokens_of(message)
    if said and said[-1] in base.sequence.end_tokens:
        said.pop()
    said_text, resent_text = tokenizer.text(said), tokenizer.text(resent)
    if not said_text.startswith(resent_text):
        return Outcome.CHANGED, promised, where
    whole = _tokens_within(said, resent, tokenizer)
    if said_text == resent_text or start + whole > common:
        return Outcome.RETOKENIZED, start + whole, where
    cut_between_tokens = tokenizer.text(said[:whole]) == resent_text
    return (Outcome.HIT, common, None) if cut_between_tokens else (Outcome.STOP_SPLIT, common, where)


def _tokens_within(said: "array[int]", resent: "array[int]", tokenizer: TextTokenizer) -> int:
    """How many leading tokens of an answer lie within the text that came back of it."""
    text, length = b"".join(map(tokenizer.token_bytes, resent)), 0
    for count, token in enumerate(said):
        piece = tokenizer.token_bytes(token)
        if not text.startswith(piece, length):
            return count
        length += len(piece)
    return len(said)
