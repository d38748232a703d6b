"""Attention of each item's rows to the keys and values of its own slots."""

import torch
import torch.nn.functional as F  # noqa: N812 - the name by which everybody knows it
from torch import Tensor

from inference_server.model.batch import Span


def attend(queries: Tensor, keys: Tensor, values: Tensor, spans: tuple[Span, ...]) -> Tensor:
    """Queries [rows, heads, head_dim], one layer of the pool [slots, kv_heads, head_dim] -> [rows, heads * head_dim].

    The keys and values of the rows themselves must be in the pool already.
    """
    outputs = [
        _attend_span(queries[span.first : span.last], keys[span.kept], values[span.kept], span.mask) for span in spans
    ]
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs)


def _attend_span(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Query heads that share a KV head become more rows of that head, so nothing is repeated in memory."""
    count, heads, head_dim = queries.shape
    kv_heads = keys.shape[1]
    group = heads // kv_heads
    folded = queries.view(count, kv_heads, group, head_dim).permute(1, 2, 0, 3)
    output = F.scaled_dot_product_attention(
        folded.reshape(1, kv_heads, group * count, head_dim),
        keys.transpose(0, 1).unsqueeze(0),
        values.transpose(0, 1).unsqueeze(0),
        attn_mask=mask,
    )
    return output.view(kv_heads, group, count, head_dim).permute(2, 0, 1, 3).reshape(count, heads * head_dim)
