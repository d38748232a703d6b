"""The forward pass: rows of all items go through the dense layers together, each item attends for itself."""

from torch import Tensor

from inference_server.model.attention import Attention
from inference_server.model.batch import BatchLayout, Span
from inference_server.model.dense import DenseLayers
from inference_server.model.kv_pool import KvPool


class Transformer:
    """A decoder of the Llama family over one KV pool."""

    def __init__(self, dense: DenseLayers, attend: Attention, pool: KvPool) -> None:
        self._dense = dense
        self._attend = attend
        self._pool = pool

    def forward(self, layout: BatchLayout) -> Tensor:
        """Writes the KV of all rows and returns the residual stream [rows, dim] behind the last layer."""
        flow = self._dense.start(layout.tokens, layout.positions)
        for layer, (keys, values) in enumerate(zip(self._pool.keys, self._pool.values, strict=True)):
            self._pool.write(layer, layout.slots, flow.keys_values)
            flow.advance(self._attend(flow.queries, keys, values, layout.spans))
        return flow.stream

    def attention(self, token: Tensor, position: Tensor, slots: Tensor, layer: int) -> Tensor:
        """One row through the layers below, against the keys and values in the pool; writes nothing.

        Token and position [1], slots [position + 1] -> weights [heads, position + 1] float32.
        """
        flow = self._dense.start(token, position)
        span = Span(0, 1, slots, None)
        for keys, values in zip(self._pool.keys[:layer], self._pool.values[:layer], strict=True):
            flow.advance(self._attend(flow.queries, keys, values, (span,)))
        queries, keys = flow.queries[0].float(), self._pool.keys[layer][0].index_select(1, slots).float()
        kv_heads, _, head_dim = keys.shape
        grouped = queries.view(kv_heads, -1, head_dim)  # Query heads that share a KV head are neighbours.
        scores = (grouped @ keys.transpose(1, 2)) * head_dim**-0.5
        weights: Tensor = scores.softmax(dim=-1).flatten(0, 1)
        return weights

    def logits(self, stream: Tensor) -> Tensor:
        """[n, dim] -> [n, vocabulary] float32."""
        return self._dense.logits(stream)
