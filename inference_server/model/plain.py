"""The dense layers in PyTorch's own operations, on any device and in any precision.

The residual stream, the norms and the logits are float32 whatever the precision of the weights: logits near 30 that
are rounded to bfloat16 would move in steps of 0.125 or more, and neighbours would tie.
"""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name by which everybody knows it
from torch import Tensor

from inference_server.model.rotary import Rotary, rotate
from inference_server.model.shape import ModelShape
from inference_server.model.weights import LayerWeights, Matrix, ModelWeights


class PlainLayers:
    """Implements DenseLayers with all weights in one dtype."""

    def __init__(self, shape: ModelShape, weights: ModelWeights, dtype: torch.dtype, device: torch.device) -> None:
        self.shape = shape
        self.dtype = dtype
        self.layers = [_PlainLayer(shape, layer, dtype, device) for layer in weights.layers]
        self._embedding = _tensor(weights.embedding.values(), device, dtype)
        self._final_norm = _tensor(weights.final_norm, device)
        shared = weights.head is weights.embedding
        self._head = self._embedding if shared else _tensor(weights.head.values(), device, dtype)
        self._rotary = Rotary(shape, weights.rope_divisors, device)

    def start(self, tokens: Tensor, positions: Tensor) -> "PlainFlow":
        return PlainFlow(self, self._embedding[tokens].float(), *self._rotary.at(positions))

    def logits(self, stream: Tensor) -> Tensor:
        normed = F.rms_norm(stream, self._final_norm.shape, self._final_norm, self.shape.norm_epsilon)
        if self.dtype == torch.float32 or stream.is_cpu:
            # Widening the head costs less than the precision that bfloat16 logits lose.
            return F.linear(normed, self._head.float())
        return torch.mm(normed.to(self.dtype), self._head.t(), out_dtype=torch.float32)


class PlainFlow:
    """Implements DenseFlow."""

    def __init__(self, dense: PlainLayers, stream: Tensor, cosines: Tensor, sines: Tensor) -> None:
        self.stream = stream
        self._dense = dense
        self._angles = cosines, sines
        self._index = 0
        self.queries, self.keys_values = dense.layers[0].project(stream, self._angles)

    def advance(self, attended: Tensor) -> None:
        layers = self._dense.layers
        self.stream = layers[self._index].advance(self.stream, attended)
        self._index += 1
        if self._index < len(layers):
            self.queries, self.keys_values = layers[self._index].project(self.stream, self._angles)


class _PlainLayer:
    def __init__(self, shape: ModelShape, weights: LayerWeights, dtype: torch.dtype, device: torch.device) -> None:
        self._shape = shape
        self._dtype = dtype
        self._attention_norm = _tensor(weights.attention_norm, device)
        self._mlp_norm = _tensor(weights.mlp_norm, device)
        self._qkv = _linear(weights.qkv, device, dtype)
        self._attention_output = _linear(weights.attention_output, device, dtype)
        self._gate_up = _linear(weights.gate_up, device, dtype)
        self._down = _linear(weights.down, device, dtype)
        self._qk_norm = _qk_norm(shape, weights, device)

    def project(self, stream: Tensor, angles: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The residual stream -> queries, and keys above values."""
        shape = self._shape
        projected = F.linear(self._norm(stream, self._attention_norm), *self._qkv)
        heads = projected.view(-1, shape.heads + 2 * shape.kv_heads, shape.head_dim)
        turning = heads[:, : -shape.kv_heads].float()
        if self._qk_norm is not None:
            turning = F.rms_norm(turning, (shape.head_dim,), eps=shape.norm_epsilon) * self._qk_norm
        turned = rotate(turning, *angles).to(self._dtype)
        keys_values = torch.cat((turned[:, shape.heads :], heads[:, -shape.kv_heads :]), dim=1)
        return turned[:, : shape.heads], keys_values

    def advance(self, stream: Tensor, attended: Tensor) -> Tensor:
        stream = stream + F.linear(attended, *self._attention_output)
        gate, up = F.linear(self._norm(stream, self._mlp_norm), *self._gate_up).chunk(2, dim=-1)
        return stream + F.linear(F.silu(gate) * up, *self._down)

    def _norm(self, stream: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(stream, weight.shape, weight, self._shape.norm_epsilon).to(self._dtype)


def _linear(matrix: Matrix, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    bias = None if matrix.bias is None else _tensor(matrix.bias, device, dtype)
    return _tensor(matrix.values(), device, dtype), bias


def _qk_norm(shape: ModelShape, weights: LayerWeights, device: torch.device) -> Tensor | None:
    """[heads + kv_heads, head_dim]."""
    if weights.query_norm is None or weights.key_norm is None:
        return None
    queries, keys = (_tensor(norm, device) for norm in (weights.query_norm, weights.key_norm))
    return torch.cat((queries.expand(shape.heads, -1), keys.expand(shape.kv_heads, -1)))


def _tensor(values: np.ndarray, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.from_numpy(np.require(values, requirements=("C", "W"))).to(device, dtype)
