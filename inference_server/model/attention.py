"""Attention of each item's rows to the keys and values of its own slots.

The keys and values of the rows themselves must be in the pool already.
"""

from typing import Protocol

import torch
import torch.nn.functional as F  # noqa: N812 - the name by which everybody knows it
from torch import Tensor

from inference_server.model.batch import Span

TILE_ROWS = 8
TILE_KEYS = 512
"""PyTorch's kernel on the CPU goes through the keys in blocks of so many."""


class Attention(Protocol):
    """Queries [rows, heads, head_dim], one layer of the pool [1, kv_heads, slots, head_dim] for keys and for values.

    Gives [rows, heads * head_dim].
    """

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor, spans: tuple[Span, ...]) -> Tensor: ...


def attend(queries: Tensor, keys: Tensor, values: Tensor, spans: tuple[Span, ...]) -> Tensor:
    """The fastest way; the shapes of the products depend on how the rows are batched, and so does rounding."""
    outputs = [
        _attend(queries[span.first : span.last], _kept(keys, span), _kept(values, span), span.mask) for span in spans
    ]
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs)


def attend_in_tiles(queries: Tensor, keys: Tensor, values: Tensor, spans: tuple[Span, ...]) -> Tensor:
    """The same in products of one shape only, so that a row's result is bit-equal however rows are batched."""
    outputs = []
    for span in spans:
        kept_keys, kept_values = _kept(keys, span), _kept(values, span)
        before = kept_keys.shape[2] - (span.last - span.first)
        for first in range(span.first, span.last, TILE_ROWS):
            rows = queries[first : min(first + TILE_ROWS, span.last)]
            position = before + first - span.first
            outputs.append(_attend_tile(rows, kept_keys, kept_values, position))
    return torch.cat(outputs)


def _attend_tile(rows: Tensor, keys: Tensor, values: Tensor, position: int) -> Tensor:
    """At most TILE_ROWS rows, of which the first stands at `position`."""
    count, heads, _ = rows.shape
    end = position + count
    pad = -end % TILE_KEYS
    positions = torch.arange(position, position + TILE_ROWS, device=rows.device).clamp(max=end - 1)
    mask = torch.arange(end + pad, device=rows.device) <= positions[:, None]
    padded_keys, padded_values = (F.pad(kept[:, :, :end], (0, 0, 0, pad)) for kept in (keys, values))
    padded_rows = F.pad(rows, (0, 0, 0, 0, 0, TILE_ROWS - count))
    return _attend(padded_rows, padded_keys, padded_values, mask.repeat(heads // keys.shape[1], 1))[:count]


def _kept(layer: Tensor, span: Span) -> Tensor:
    return layer[:, :, span.kept] if isinstance(span.kept, slice) else layer.index_select(2, span.kept)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Query heads that share a KV head become more rows of that head, so nothing is repeated in memory."""
    count, heads, head_dim = queries.shape
    kv_heads = keys.shape[1]
    group = heads // kv_heads
    if count == 1:  # One row is in the right order already.
        folded = queries.reshape(1, kv_heads, group, head_dim)
        return F.scaled_dot_product_attention(folded, keys, values, attn_mask=mask).reshape(1, heads * head_dim)
    folded = queries.view(count, kv_heads, group, head_dim).permute(1, 2, 0, 3)
    output = F.scaled_dot_product_attention(
        folded.reshape(1, kv_heads, group * count, head_dim), keys, values, attn_mask=mask
    )
    return output.view(kv_heads, group, count, head_dim).permute(2, 0, 1, 3).reshape(count, heads * head_dim)
