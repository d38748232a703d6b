"""Rotary position embedding: turns each pair of numbers of a head, further at each position."""

import numpy as np
import torch
from torch import Tensor

from inference_server.model.shape import ModelShape


class Rotary:
    """The angles of a model. The pairs of a head are (i, i + head_dim / 2)."""

    def __init__(self, shape: ModelShape, divisors: np.ndarray | None, device: torch.device) -> None:
        steps = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
        frequencies = 1.0 / shape.rope_base**steps
        if divisors is not None:
            frequencies /= torch.from_numpy(divisors)
        self._frequencies = frequencies.to(device)

    def at(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [rows, head_dim / 2] float32, to be used in all layers of a step.

        They are computed anew in each step: a table would be as large as the context that the file claims.
        """
        angles = torch.outer(positions.float(), self._frequencies)
        return angles.cos(), angles.sin()


def rotate(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """[rows, heads, head_dim] float32, turned by the angles of each row."""
    first, second = heads.chunk(2, dim=-1)
    cosines, sines = cosines[:, None], sines[:, None]
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), dim=-1)
