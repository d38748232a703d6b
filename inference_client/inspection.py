"""What the bundled server shows of a message and of its cache, as values. Other servers have nothing of the kind."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from inference_client.wire import fit, parse_json

TokenState = Literal["cached", "computed", "generated"]


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, protected_namespaces=())


class TokenPiece(_Shown):
    """`text` may be a part of a character, whose bytes are then written as numbers. `segment` is whose token it is:
    `system`, `messages.2`, `template` or `answer`."""

    position: int
    id: int
    text: str
    segment: str


class ShownToken(TokenPiece):
    state: TokenState


class MessageTokens(_Shown):
    """All tokens of a prompt and its answer, by position from 0; counts in tokens."""

    input_tokens: int
    cache_read_input_tokens: int | None
    output_tokens: int
    kv_tokens: int
    finished: bool
    tokens: tuple[ShownToken, ...]


class WeighedToken(ShownToken):
    weight: float


class Remainder(_Shown):
    positions: int
    weight: float


class AttentionRow(_Shown):
    """Where one position looks: weights of all positions sum to 1. `head` is a number or "mean" over all `heads`.

    `cached_weight` is the part that lies on positions which the request read from the cache.
    """

    position: int
    layer: int
    layers: int
    head: int | Literal["mean"]
    heads: int
    cached_weight: float
    top: tuple[WeighedToken, ...]
    remainder: Remainder


class ComparedSide(_Shown):
    """`at_divergence` is the first token that the other prompt does not have there; None for the whole of the other's
    beginning."""

    input_tokens: int
    at_divergence: TokenPiece | None


class Comparison(_Shown):
    a: ComparedSide
    b: ComparedSide
    common_tokens: int


class Slots(_Shown):
    total: int
    free: int
    cached: int
    live: int


class CacheState(_Shown):
    """The pool of KV slots, one per token, and what holds them."""

    serving_id: str
    slots: Slots
    nodes: int
    scopes: int
    evicted_tokens: int
    waiting: int
    running: int
    records: int


def parse_tokens(body: bytes) -> MessageTokens:
    return fit(MessageTokens, parse_json(body))


def parse_attention(body: bytes) -> AttentionRow:
    return fit(AttentionRow, parse_json(body))


def parse_comparison(body: bytes) -> Comparison:
    return fit(Comparison, parse_json(body))


def parse_cache(body: bytes) -> CacheState:
    return fit(CacheState, parse_json(body))
