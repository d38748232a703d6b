"""The forward pass: rows of all items go through the dense layers together, each item attends for itself."""

from torch import Tensor

from inference_server.model.attention import Attention
from inference_server.model.batch import BatchLayout
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

    def logits(self, stream: Tensor) -> Tensor:
        """[n, dim] -> [n, vocabulary] float32."""
        return self._dense.logits(stream)
