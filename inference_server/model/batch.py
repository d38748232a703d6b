"""Lays the items of a batch out as rows: what is computed together, and what each item attends to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inference_server.model.shape import ModelShape
from inference_server.model_runner import BatchItem


@dataclass(frozen=True, slots=True)
class Span:
    """The rows first..last-1 of one item. `kept` are the slots of all its positions.

    `mask` [group * n, positions] is True where a row may look, None where it may look everywhere.
    """

    first: int
    last: int
    kept: slice | Tensor
    mask: Tensor | None


@dataclass(frozen=True, slots=True)
class BatchLayout:
    """`tokens`, `positions` and `slots` [rows] of all items one behind the other."""

    tokens: Tensor
    positions: Tensor
    slots: Tensor
    spans: tuple[Span, ...]


def lay_out(batch: Sequence[BatchItem], shape: ModelShape, num_slots: int, device: torch.device) -> BatchLayout:
    """Raises ValueError for an item that contradicts itself, the model or the pool."""
    spans: list[Span] = []
    slots: list[Sequence[int] | range] = []
    first = 0
    for item in batch:
        _check(item, shape, num_slots)
        last = first + len(item.tokens)
        spans.append(Span(first, last, _kept(item, device), _mask(item, shape.group, device)))
        slots.append(_new_slots(item))
        first = last
    return BatchLayout(
        tokens=_indices([item.tokens for item in batch], device),
        positions=_indices([range(item.start, item.start + len(item.tokens)) for item in batch], device),
        slots=_indices(slots, device),
        spans=tuple(spans),
    )


def _check(item: BatchItem, shape: ModelShape, num_slots: int) -> None:
    total = item.start + len(item.tokens)
    if not item.tokens or item.start < 0 or len(item.slots) != total or total > shape.context:
        raise ValueError(f"{len(item.tokens)} tokens from {item.start} with {len(item.slots)} slots do not fit")
    if min(item.tokens) < 0 or max(item.tokens) >= shape.vocabulary:
        raise ValueError("a token id lies outside the vocabulary")
    if item.run_start is None:
        lowest, highest = min(item.slots), max(item.slots)
    else:
        lowest, highest = item.run_start, item.run_start + total - 1
    if lowest < 0 or highest >= num_slots:
        raise ValueError(f"the slots {lowest}..{highest} leave the pool of {num_slots}")


def _new_slots(item: BatchItem) -> Sequence[int]:
    if item.run_start is None:
        return item.slots[item.start :]
    return range(item.run_start + item.start, item.run_start + item.start + len(item.tokens))


def _kept(item: BatchItem, device: torch.device) -> slice | Tensor:
    if item.run_start is None:
        return _indices([item.slots], device)
    return slice(item.run_start, item.run_start + item.start + len(item.tokens))


def _mask(item: BatchItem, group: int, device: torch.device) -> Tensor | None:
    """Row i stands at position start + i and sees all up to itself.

    A flag such as `is_causal` is aligned to the first key instead of the last, which is wrong as soon as something
    is cached.
    """
    count = len(item.tokens)
    if count == 1:
        return None
    keys = torch.arange(item.start + count, device=device)
    return (keys <= keys[item.start :, None]).repeat(group, 1)


def _indices(parts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    joined = np.concatenate([np.array(part, dtype=np.int64) for part in parts])
    return torch.from_numpy(joined).to(device)
