"""The seam between attention and everything else of a forward pass, which has more than one implementation."""

from typing import Protocol

from torch import Tensor


class DenseFlow(Protocol):
    """The rows of one batch on their way through the layers, beginning in front of the first attention.

    Its tensors are valid until the next call of `advance`.
    """

    @property
    def queries(self) -> Tensor:
        """[rows, heads, head_dim], turned to their positions, in the dtype of the KV pool."""
        ...

    @property
    def keys_values(self) -> Tensor:
        """[rows, 2 * kv_heads, head_dim], first the turned keys, in the dtype of the KV pool."""
        ...

    @property
    def stream(self) -> Tensor:
        """The residual stream, [rows, dim] float32."""
        ...

    def advance(self, attended: Tensor) -> None:
        """Goes from one attention's result [rows, heads * head_dim] to in front of the next one, or to the end."""
        ...


class DenseLayers(Protocol):
    """Embedding, linear layers, norms, rotary embedding and head."""

    def start(self, tokens: Tensor, positions: Tensor) -> DenseFlow:
        """Tokens and positions [rows]. The flow before ends here: both may use the same buffers."""
        ...

    def logits(self, stream: Tensor) -> Tensor:
        """[n, dim] float32 behind the last layer -> [n, vocabulary] float32."""
        ...
