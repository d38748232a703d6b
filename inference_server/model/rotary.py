"""Rotary position embedding: turns each pair of numbers of a head, further at each position."""

import torch
from torch import Tensor

from inference_server.model.shape import ModelShape


class Rotary:
    """Float32 tables of cosines and sines [context, 1, head_dim]. Pairs of a head are (i, i + head_dim / 2)."""

    def __init__(self, shape: ModelShape, divisors: Tensor | None, device: torch.device) -> None:
        steps = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
        frequencies = 1.0 / shape.rope_base**steps
        if divisors is not None:
            frequencies /= divisors
        angles = torch.outer(torch.arange(shape.context, dtype=torch.float32), frequencies)[:, None]
        self._cosines = torch.cat((angles.cos(), angles.cos()), dim=-1).to(device)
        self._sines = torch.cat((-angles.sin(), angles.sin()), dim=-1).to(device)

    def at(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of both tables for these positions, to be used in all layers of a step."""
        return self._cosines[positions], self._sines[positions]


def rotate(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """[rows, heads, head_dim] float32, turned. The first half of the sines is negative."""
    rows, count, head_dim = heads.shape
    swapped = heads.view(rows, count, 2, head_dim // 2).flip(2).view(rows, count, head_dim)
    return torch.addcmul(heads * cosines, swapped, sines)
