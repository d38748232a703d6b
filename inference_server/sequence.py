"""One request inside the engine: its tokens, its KV slots and its counters.

Which range of a sequence's tokens belongs to whom, by position (see ARCHITECTURE.md for the drawing):

    0 ........ published ........ computed ........ len(slots)
    | the tree has them | KV exists | reserved |

``private`` is a set, because ownership does not follow these bounds: the copy of a prefix is private although the tree
has the same tokens in other slots, and so are tokens that another request published first.

It knows nothing of text: what a token means is the business of its ``reader``.
"""

import enum
from array import array
from dataclasses import dataclass, field
from typing import Protocol

from inference_server.model_runner import SamplingDraw
from inference_server.radix_tree import Node


class Status(enum.Enum):
    """Where a sequence is."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


class StopReason(enum.Enum):
    """Why a sequence ended; the wire names of the Messages API, and two endings that the wire has no name for."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    STOP_SEQUENCE = "stop_sequence"
    CONTEXT_WINDOW = "model_context_window_exceeded"
    ABORTED = "aborted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters. ``seed`` and a token's index give the token's random number."""

    temperature: float
    top_p: float
    top_k: int
    seed: int

    def draw(self, index: int) -> SamplingDraw:
        """The draw for the ``index``-th output token."""
        return SamplingDraw(self.temperature, self.top_p, self.top_k, _uniform(self.seed, index))


class TokenReader(Protocol):
    """Turns sampled tokens into text and watches for stop strings."""

    def push(self, token: int) -> tuple[str, str | None]:
        """Take one sampled token; returns (text that may be delivered now, the stop string that it completed)."""
        ...

    def finish(self) -> str:
        """The text that was held back as a possible stop string and is none."""
        ...


@dataclass(eq=False, slots=True)
class Sequence:
    """A request's state. Mutated by the scheduler and the engine only."""

    id: str
    scope: bytes
    prompt: "array[int]"
    max_tokens: int
    """Output tokens at most, already clamped to what context and pool hold; 0 only warms the cache."""
    clamped: bool
    sampling: Sampling
    end_tokens: frozenset[int]
    reader: TokenReader
    output: "array[int]"
    """Sampled tokens, the end token included. The transcript of the answer reads the same array while it grows."""

    status: Status = Status.WAITING
    cached_tokens: int | None = None
    """Tokens adopted from the cache at the first admission; frozen then. None until then."""
    known_tokens: int = 0
    """As ``cached_tokens``, but with those behind them that had been in the cache and were evicted."""
    node: Node | None = None
    """Where the pinned path ends in the tree, at position ``published``; None unless running."""
    published: int = 0
    computed: int = 0
    """Leading positions whose KV exists."""
    peak: int = 0
    """The most positions ever computed; after a preemption, what is computed again below it is no new work."""
    slots: "array[int]" = field(default_factory=lambda: array("i"))
    private: set[int] = field(default_factory=set)
    run_start: int | None = None
    arrival: int = 0
    """Order of submission; kept when a preempted sequence goes back to the queue."""

    def __len__(self) -> int:
        """Prompt and sampled tokens."""
        return len(self.prompt) + len(self.output)

    def tokens(self, start: int, end: int) -> "array[int]":
        """Token ids of the positions ``start .. end - 1``, prompt and output alike."""
        split = len(self.prompt)
        if end <= split:
            return self.prompt[start:end]
        if start >= split:
            return self.output[start - split : end - split]
        return self.prompt[start:] + self.output[: end - split]

    @property
    def max_length(self) -> int:
        """KV tokens held when ``max_tokens`` are sampled: the last one is never fed back."""
        return len(self.prompt) + max(0, self.max_tokens - 1)

    @property
    def num_uncomputed(self) -> int:
        """Tokens whose KV does not exist yet: 1 while decoding, more while prefilling."""
        return len(self) - self.computed

    @property
    def is_decoding(self) -> bool:
        """Whether the next row is the newest sampled token."""
        return self.num_uncomputed == 1 and len(self.output) > 0


_MASK = (1 << 64) - 1


def _uniform(seed: int, index: int) -> float:
    """A number in [0, 1) from (seed, index) alone: the splitmix64 finaliser over a Weyl sequence."""
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((z ^ (z >> 31)) >> 11) / (1 << 53)
