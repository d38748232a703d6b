"""Rotary position embedding: turns each pair of numbers of a head, further at each position."""

import torch
from torch import Tensor

from inference_server.model.shape import ModelShape


class Rotary:
    """The angles of a model. The pairs of a head are (i, i + head_dim / 2)."""

    def __init__(self, shape: ModelShape, divisors: Tensor | None, device: torch.device) -> None:
        steps = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
        frequencies = 1.0 / shape.rope_base**steps
        if divisors is not None:
            frequencies /= divisors
        self._frequencies = frequencies.to(device)

    def at(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [rows, 1, head_dim] float32, to be used in all layers of a step.

        They are computed anew in each step: a table would be as large as the context that the file claims.
        """
        angles = torch.outer(positions.float(), self._frequencies)[:, None]
        cosines, sines = angles.cos(), angles.sin()
        return torch.cat((cosines, cosines), dim=-1), torch.cat((-sines, sines), dim=-1)


def rotate(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """[rows, heads, head_dim] float32, turned. The first half of the sines is negative."""
    rows, count, head_dim = heads.shape
    swapped = heads.view(rows, count, 2, head_dim // 2).flip(2).view(rows, count, head_dim)
    return torch.addcmul(heads * cosines, swapped, sines)
