"""The forward pass: rows of all items go through the linear layers together, each item attends for itself.

The residual stream and the norms are float32 whatever the precision of the weights.
"""

import torch.nn.functional as F  # noqa: N812 - the name by which everybody knows it
from torch import Tensor

from inference_server.model.attention import attend
from inference_server.model.batch import BatchLayout
from inference_server.model.kv_pool import KvPool
from inference_server.model.rotary import Rotary, rotate
from inference_server.model.shape import ModelShape
from inference_server.model.weights import LayerWeights, ModelWeights


class Transformer:
    """A decoder of the Llama family over one KV pool."""

    def __init__(self, shape: ModelShape, weights: ModelWeights, pool: KvPool) -> None:
        self._shape = shape
        self._weights = weights
        self._pool = pool
        self._dtype = weights.embedding.dtype
        self._rotary = Rotary(shape, weights.rope_divisors, weights.embedding.device)

    def forward(self, layout: BatchLayout) -> Tensor:
        """Writes the KV of all rows and returns the residual stream [rows, dim] behind the last layer."""
        stream = self._weights.embedding[layout.tokens].float()
        cosines, sines = self._rotary.at(layout.positions)
        for index, layer in enumerate(self._weights.layers):
            stream += self._attention(index, layer, stream, layout, cosines, sines)
            stream += self._mlp(layer, stream)
        return stream

    def logits(self, stream: Tensor) -> Tensor:
        """[n, dim] -> [n, vocabulary] float32."""
        return self._weights.head(self._norm(stream, self._weights.final_norm))

    def _attention(
        self,
        index: int,
        layer: LayerWeights,
        stream: Tensor,
        layout: BatchLayout,
        cosines: Tensor,
        sines: Tensor,
    ) -> Tensor:
        shape = self._shape
        projected = layer.qkv(self._norm(stream, layer.attention_norm).to(self._dtype))
        heads = projected.view(-1, shape.heads + 2 * shape.kv_heads, shape.head_dim)
        turning = heads[:, : -shape.kv_heads].float()
        if layer.qk_norm is not None:
            turning = F.rms_norm(turning, (shape.head_dim,), eps=shape.norm_epsilon) * layer.qk_norm
        turned = rotate(turning, cosines, sines).to(self._dtype)
        queries, keys = turned[:, : shape.heads], turned[:, shape.heads :]
        self._pool.write(index, layout.slots, keys, heads[:, -shape.kv_heads :])
        return layer.attention_output(attend(queries, self._pool.keys[index], self._pool.values[index], layout.spans))

    def _mlp(self, layer: LayerWeights, stream: Tensor) -> Tensor:
        gate, up = layer.gate_up(self._norm(stream, layer.mlp_norm).to(self._dtype)).chunk(2, dim=-1)
        return layer.down(F.silu(gate) * up)

    def _norm(self, stream: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(stream, weight.shape, weight, self._shape.norm_epsilon)
