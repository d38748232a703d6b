"""Chooses tokens from logits.

Stateless: the same logits and the same draw give the same token, whatever else is in the batch.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from inference_server.model.errors import NonFiniteLogits
from inference_server.model_runner import SamplingDraw

# What a sensible top_p keeps nearly always lies in so many tokens; more are found by sorting the whole row.
HEAD_TOKENS = 128

FloatRow = np.ndarray[tuple[int], np.dtype[np.float64]]


class Sampler:
    """Tokens with a banned id are never chosen."""

    def __init__(self, vocabulary: int, banned_token_ids: Iterable[int], device: torch.device) -> None:
        banned = sorted(set(banned_token_ids))
        if banned and not 0 <= banned[0] <= banned[-1] < vocabulary:
            raise ValueError("a banned token id lies outside the vocabulary")
        if len(banned) == vocabulary:
            raise ValueError("all tokens are banned")
        self._ban = torch.zeros(vocabulary, device=device)
        self._ban[banned] = -torch.inf

    def sample(self, logits: Tensor, draws: Sequence[SamplingDraw]) -> list[int]:
        """Logits [n, vocabulary] float32 and n draws -> n ids. Raises NonFiniteLogits, naming rows."""
        allowed = logits + self._ban
        highest = allowed.amax(dim=1, keepdim=True)
        broken = (~highest.isfinite()).flatten().nonzero().flatten().tolist()
        if broken:
            raise NonFiniteLogits(broken)
        chosen: list[int] = allowed.argmax(dim=1).tolist()
        random_rows = [row for row, draw in enumerate(draws) if draw.temperature > 0]
        if random_rows:
            # With 0 as the highest logit no temperature, however low, leads to an overflow.
            shifted = (allowed - highest)[random_rows].double()
            tokens = _draw_rows(shifted, [draws[row] for row in random_rows])
            for row, token in zip(random_rows, tokens, strict=True):
                chosen[row] = token
        return chosen


def _draw_rows(logits: Tensor, draws: Sequence[SamplingDraw]) -> list[int]:
    """Logits [n, vocabulary] float64, at most 0 -> n ids."""
    size = min(logits.shape[1], HEAD_TOKENS)
    temperatures = torch.tensor([draw.temperature for draw in draws], dtype=torch.float64)
    totals = (logits / temperatures[:, None].to(logits.device)).exp_().sum(dim=1).tolist()
    head = logits.topk(size, dim=1)
    values, ids = head.values.cpu().numpy(), head.indices.cpu().numpy()
    chosen = []
    for row, draw in enumerate(draws):
        index = _choose(values[row], totals[row], draw, complete=size == logits.shape[1])
        if index is None:
            order = logits[row].sort(descending=True, stable=True)
            index = _choose(order.values.cpu().numpy(), totals[row], draw, complete=True)
            chosen.append(int(order.indices[index]))
        else:
            chosen.append(int(ids[row, index]))
    return chosen


def _choose(logits: FloatRow, total: float, draw: SamplingDraw, *, complete: bool) -> int | None:
    """The place of the drawn token among these logits, the highest ones of a row in descending order.

    None if it may lie behind them, never if they are `complete`. `total` is the sum of exp(logit / temperature) over
    the whole row.
    """
    if draw.top_k > len(logits) and not complete:
        return None
    if draw.top_k:
        logits, complete = logits[: draw.top_k], True
    with np.errstate(over="ignore"):
        weights = np.exp(logits / draw.temperature)
    cumulative = np.cumsum(weights) / (weights.sum() if draw.top_k else total)
    mass = 1.0
    if draw.top_p < 1.0:
        last = int(np.searchsorted(cumulative, draw.top_p))
        if last == len(cumulative) and not complete:
            return None
        cumulative = cumulative[: last + 1]
        mass, complete = float(cumulative[-1]), True
    index = int(np.searchsorted(cumulative, draw.uniform * mass, side="right"))
    if index < len(cumulative):
        return index
    # Rounding may leave the sum just below the drawn number, which then means the last possible token.
    return int(np.flatnonzero(weights[: len(cumulative)])[-1]) if complete else None
