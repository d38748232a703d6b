"""The tensors of a model file, in the arrangement and precision in which the transformer uses them."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inference_server.errors import ModelFileError
from inference_server.gguf_file import GgufFile
from inference_server.model.linear import Head, Linear, Widener, multiplies_well
from inference_server.model.shape import SUPPORTED, ModelShape


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """`qkv` and `gate_up` are stacked. `qk_norm` [heads + kv_heads, head_dim] only where the model has it."""

    attention_norm: Tensor
    qkv: Linear
    qk_norm: Tensor | None
    attention_output: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """Linears and the embedding in the compute dtype, norms in float32."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Head
    rope_divisors: Tensor | None


def load_weights(file: GgufFile, shape: ModelShape, dtype: torch.dtype, device: torch.device) -> ModelWeights:
    """Raises ModelFileError if a tensor is missing, has another shape, or has no use here."""
    loader = _Loader(file, shape, dtype, device)
    embedding = loader.matrix("token_embd.weight", shape.vocabulary, shape.dim).to(device, dtype)
    weights = ModelWeights(
        embedding=embedding,
        layers=tuple(loader.layer(index) for index in range(shape.layers)),
        final_norm=loader.vector("output_norm.weight", shape.dim),
        head=loader.head(embedding),
        rope_divisors=loader.optional_vector("rope_freqs.weight", shape.head_dim // 2),
    )
    loader.check_all_used()
    return weights


class _Loader:
    def __init__(self, file: GgufFile, shape: ModelShape, dtype: torch.dtype, device: torch.device) -> None:
        self._file = file
        self._shape = shape
        self._dtype = dtype
        self._device = device
        self._widener = Widener(device)
        self._linear_widener = None if multiplies_well(dtype, device) else self._widener
        self._used: set[str] = set()

    def layer(self, index: int) -> LayerWeights:
        shape, prefix = self._shape, f"blk.{index}."
        queries = shape.heads * shape.head_dim
        return LayerWeights(
            attention_norm=self.vector(prefix + "attn_norm.weight", shape.dim),
            qkv=self._qkv(prefix),
            qk_norm=self._qk_norm(prefix),
            attention_output=self.linear(self.matrix(prefix + "attn_output.weight", shape.dim, queries)),
            mlp_norm=self.vector(prefix + "ffn_norm.weight", shape.dim),
            gate_up=self.linear(
                torch.cat([self.matrix(f"{prefix}ffn_{part}.weight", shape.ffn, shape.dim) for part in ("gate", "up")])
            ),
            down=self.linear(self.matrix(prefix + "ffn_down.weight", shape.dim, shape.ffn)),
        )

    def linear(self, weight: Tensor, bias: Tensor | None = None) -> Linear:
        stored_bias = None if bias is None else bias.to(self._device, self._dtype)
        return Linear(weight.to(self._device, self._dtype), stored_bias, widener=self._linear_widener)

    def head(self, embedding: Tensor) -> Head:
        shape = self._shape
        if shape.tied:
            return Head(embedding, self._widener)
        weight = self.matrix("output.weight", shape.vocabulary, shape.dim)
        return Head(weight.to(self._device, self._dtype), self._widener)

    def matrix(self, name: str, out_features: int, in_features: int) -> Tensor:
        return self._tensor(name, (out_features, in_features))

    def vector(self, name: str, size: int) -> Tensor:
        return self._tensor(name, (size,)).to(self._device)

    def optional_vector(self, name: str, size: int) -> Tensor | None:
        return self._tensor(name, (size,)) if name in self._file.tensor_names else None

    def check_all_used(self) -> None:
        unused = sorted(self._file.tensor_names - self._used)
        if unused:
            raise ModelFileError(f"{self._file.path}: the tensor {unused[0]} has no use here; {SUPPORTED}")

    def _qkv(self, prefix: str) -> Linear:
        shape = self._shape
        parts = (("attn_q", shape.heads), ("attn_k", shape.kv_heads), ("attn_v", shape.kv_heads))
        weights, biases = [], []
        for name, heads in parts:
            size = heads * shape.head_dim
            turned = name != "attn_v" and shape.interleaved_rotary
            weight = self.matrix(f"{prefix}{name}.weight", size, shape.dim)
            bias = self.optional_vector(f"{prefix}{name}.bias", size)
            weights.append(separate_halves(weight, heads) if turned else weight)
            if bias is not None:
                biases.append(separate_halves(bias, heads) if turned else bias)
        if len(biases) not in (0, len(parts)):
            raise ModelFileError(f"{self._file.path}: {prefix}attn has biases for some of Q, K and V only")
        return self.linear(torch.cat(weights), torch.cat(biases) if biases else None)

    def _qk_norm(self, prefix: str) -> Tensor | None:
        shape = self._shape
        query_norm = self.optional_vector(prefix + "attn_q_norm.weight", shape.head_dim)
        key_norm = self.optional_vector(prefix + "attn_k_norm.weight", shape.head_dim)
        if query_norm is None and key_norm is None:
            return None
        if query_norm is None or key_norm is None:
            raise ModelFileError(f"{self._file.path}: {prefix}attn has norms for one of Q and K only")
        stacked = torch.cat((query_norm.expand(shape.heads, -1), key_norm.expand(shape.kv_heads, -1)))
        return stacked.to(self._device)

    def _tensor(self, name: str, expected: tuple[int, ...]) -> Tensor:
        values = self._file.tensor(name)
        self._used.add(name)
        if values.shape != expected:
            raise ModelFileError(
                f"{self._file.path}: {name} has the shape {list(values.shape)} instead of {list(expected)}"
            )
        return torch.from_numpy(np.require(values, requirements=("C", "W")))


def separate_halves(rows: Tensor, heads: int) -> Tensor:
    """Undoes the order in which GGUF stores Q and K of llama models: the two halves of a head alternate."""
    half = rows.shape[0] // heads // 2
    return rows.view(heads, half, 2, -1).transpose(1, 2).reshape(rows.shape)
