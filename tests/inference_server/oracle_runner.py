"""A ModelRunner without a model: its next token is a function of the tokens whose KV it finds in the slots.

Each slot holds the whole prefix that was computed up to it, so a wrong, stale or unwritten slot changes what is
sampled or raises at once. Knows nothing of the cache.
"""

from array import array
from collections.abc import Callable, Sequence

from inference_server.model_runner import BatchItem

NextToken = Callable[[tuple[int, ...]], int]


class OracleRunner:
    """``fails`` may name prefixes for which the forward pass raises, as a real one does when memory runs out."""

    def __init__(
        self, num_slots: int, next_token: NextToken, *, fails: Callable[[tuple[int, ...]], bool] = lambda _: False
    ) -> None:
        self.num_slots = num_slots
        self.rows = 0
        self.copies = 0
        self._next_token = next_token
        self._fails = fails
        self._kv: list[tuple[int, ...] | None] = [None] * num_slots

    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        return [self._run(item) for item in batch]

    layers, heads = 1, 2

    def attention(self, token: int, slots: Sequence[int], layer: int) -> "list[array[float]]":
        """One head looks at the token itself, the other at all positions alike."""
        prefix = self._prefix(slots)
        assert (prefix[-1], layer) == (token, 0)
        count = len(slots)
        return [array("f", [0.0] * (count - 1) + [1.0]), array("f", [1 / count] * count)]

    def copy_kv(self, source: Sequence[int], target_start: int) -> None:
        self.copies += 1
        for offset, slot in enumerate(source):
            self._kv[target_start + offset] = self._kv[slot]

    def _run(self, item: BatchItem) -> int | None:
        assert len(item.slots) == item.start + len(item.tokens)
        assert len(set(item.slots)) == len(item.slots)
        if item.run_start is not None:
            assert list(item.slots) == list(range(item.run_start, item.run_start + len(item.slots)))
        prefix = self._prefix(item.slots[: item.start])
        for token, slot in zip(item.tokens, item.slots[item.start :], strict=True):
            prefix = (*prefix, token)
            if self._fails(prefix):
                raise MemoryError("no memory for this row")
            self._kv[slot] = prefix
            self.rows += 1
        return None if item.draw is None else self._next_token(prefix)

    def _prefix(self, slots: Sequence[int]) -> tuple[int, ...]:
        """What attention would see: every slot has to hold its own position of one and the same prefix."""
        held = [self._kv[slot] for slot in slots]
        prefix = held[-1] if held else ()
        for position, part in enumerate(held, 1):
            assert part is not None, "a slot was read before it was written"
            assert prefix is not None
            assert part == prefix[:position], "a slot holds the KV of another prefix"
        return prefix or ()
