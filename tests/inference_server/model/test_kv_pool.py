"""The KV pool: what a copy moves and what it refuses."""

from array import array
from collections.abc import Sequence

import pytest
import torch

from inference_server.model.kv_pool import KvPool
from inference_server.model.shape import ModelShape

SHAPE = ModelShape(
    layers=3,
    dim=8,
    heads=4,
    kv_heads=2,
    head_dim=4,
    ffn=8,
    context=64,
    vocabulary=10,
    rope_base=10_000.0,
    norm_epsilon=1e-5,
    tied=True,
    interleaved_rotary=True,
)


def _numbered_pool() -> KvPool:
    pool = KvPool(SHAPE, 20, torch.float32, torch.device("cpu"))
    pool.tensor.copy_(torch.arange(pool.tensor.numel()).view(pool.tensor.shape))
    return pool


def test_pool_starts_with_zeros_and_its_views_share_memory() -> None:
    pool = KvPool(SHAPE, 5, torch.bfloat16, torch.device("cpu"))
    assert pool.tensor.shape == (3, 2, 2, 5, 4)
    assert not pool.tensor.any()
    keys, values = torch.ones(2, 2, 4), torch.full((2, 2, 4), 2.0)
    pool.write(1, torch.tensor([4, 2]), torch.cat((keys, values), dim=1).bfloat16())
    assert pool.tensor[1, 0, :, [2, 4]].eq(1).all()
    assert pool.tensor[1, 1, :, [2, 4]].eq(2).all()
    assert pool.keys[1].shape == pool.values[1].shape == (1, 2, 5, 4)
    assert pool.values[1][0, :, 4].eq(2).all()
    assert pool.tensor.count_nonzero() == 2 * 2 * 8


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (range(2, 6), 10),
        (range(2, 6), 4),
        (range(4, 8), 2),
        (range(3, 7), 3),
        ([9, 1, 5], 12),
        ([9, 1, 5], 0),
        (array("q", [0, 2, 1]), 1),
        ([7], 19),
        ([], 0),
    ],
)
def test_copy_moves_all_layers_even_when_the_ranges_overlap(source: Sequence[int], target: int) -> None:
    pool = _numbered_pool()
    before = pool.tensor.clone()
    pool.copy(source, target)
    for offset, slot in enumerate(source):
        assert torch.equal(pool.tensor[..., target + offset, :], before[..., slot, :])
    untouched = [slot for slot in range(20) if not target <= slot < target + len(source)]
    assert torch.equal(pool.tensor[..., untouched, :], before[..., untouched, :])


@pytest.mark.parametrize(("source", "target"), [([0, 1], 19), ([-1], 3), ([20], 3), ([0], -1)])
def test_copy_that_leaves_the_pool_is_refused(source: list[int], target: int) -> None:
    with pytest.raises(ValueError, match="leaves the pool of 20"):
        _numbered_pool().copy(source, target)


def test_pool_without_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        KvPool(SHAPE, 0, torch.float32, torch.device("cpu"))
