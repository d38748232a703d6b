"""The memory of the prefix cache: keys and values of one token per slot, in all layers.

It knows nothing of who owns a slot.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from inference_server.model.shape import ModelShape


class KvPool:
    """One tensor [layers, 2, kv_heads, slots, head_dim], zeroed: even a masked NaN would poison attention.

    A head's slots lie side by side, so that attention reads memory in its order.
    """

    def __init__(self, shape: ModelShape, num_slots: int, dtype: torch.dtype, device: torch.device) -> None:
        if num_slots < 1:
            raise ValueError("a KV pool needs at least one slot")
        self.num_slots = num_slots
        self.tensor = torch.zeros(
            shape.layers, 2, shape.kv_heads, num_slots, shape.head_dim, dtype=dtype, device=device
        )
        # The views per layer are made once, since a step is so short that making views would show.
        self.keys = [layer[:1] for layer in self.tensor]
        self.values = [layer[1:] for layer in self.tensor]
        self._stacked = [layer.flatten(0, 1) for layer in self.tensor]

    def write(self, layer: int, slots: Tensor, keys_values: Tensor) -> None:
        """Keys above values [n, 2 * kv_heads, head_dim] of n tokens go into their slots [n]."""
        self._stacked[layer].index_copy_(1, slots, keys_values.transpose(0, 1))

    def copy(self, source: Sequence[int], target_start: int) -> None:
        """Copies these slots into the run from `target_start` on, in all layers. The two may overlap."""
        slots = np.array(source, dtype=np.int64)
        if slots.size == 0:
            return
        end = target_start + slots.size
        if target_start < 0 or end > self.num_slots or slots.min() < 0 or slots.max() >= self.num_slots:
            raise ValueError(f"copying {slots.size} slots to {target_start} leaves the pool of {self.num_slots}")
        self.tensor[..., target_start:end, :] = self._read(slots, target_start)

    def _read(self, slots: "np.ndarray[tuple[int], np.dtype[np.int64]]", target_start: int) -> Tensor:
        first, count = int(slots[0]), slots.size
        if not np.array_equal(slots, np.arange(first, first + count)):
            return self.tensor.index_select(3, torch.from_numpy(slots).to(self.tensor.device))
        run = self.tensor[..., first : first + count, :]
        return run.clone() if abs(first - target_start) < count else run
