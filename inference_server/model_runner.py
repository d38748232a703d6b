"""The seam between the engine and the model: what one forward pass is asked to do.

The engine decides which tokens are computed and where their KV lies; a runner computes and samples. No torch here, so
that the engine can be tested with a scripted runner.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SamplingDraw:
    """How to choose one token from the logits of one row.

    ``uniform`` is the random number in [0, 1) that picks the token by inverse CDF. The engine derives it from the
    request's seed and the token's index, so sampling has no state that a preemption could lose.
    """

    temperature: float
    top_p: float
    top_k: int
    uniform: float


@dataclass(frozen=True, slots=True)
class BatchItem:
    """The rows of one request in a mixed batch.

    ``tokens`` (n >= 1) are computed at positions ``start .. start + n - 1``; ``slots`` holds the KV slot of every
    position ``0 .. start + n - 1``. When the slots are one run, ``run_start`` is its first slot, and attention may read
    a slice instead of gathering. With ``draw``, a token is sampled behind the last row.
    """

    tokens: Sequence[int]
    start: int
    slots: Sequence[int]
    run_start: int | None
    draw: SamplingDraw | None


class ModelRunner(Protocol):
    """Computes batches and owns the KV pool's memory."""

    @property
    def num_slots(self) -> int:
        """Size of the KV pool in tokens."""
        ...

    @property
    def layers(self) -> int:
        """Layers of the model, which attention is shown of one by one."""
        ...

    @property
    def heads(self) -> int:
        """Query heads of a layer."""
        ...

    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        """Write the KV of all rows, then sample; one entry per item, None where no token was asked for."""
        ...

    def attention(self, token: int, slots: Sequence[int], layer: int) -> "list[array[float]]":
        """Where this token looks from the position of the last slot: weights [heads][positions], a head's sum is 1.

        Its KV and that of all positions in front lie in ``slots``; nothing is written.
        """
        ...

    def copy_kv(self, source: Sequence[int], target_start: int) -> None:
        """Copy the KV of the ``source`` slots into the run that begins at ``target_start``."""
        ...
