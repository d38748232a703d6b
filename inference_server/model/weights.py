"""Which tensors of a model file go where: arranged and checked; the large ones are read when they are asked for.

What the matrices become (PyTorch's or packed ones) is decided by those who multiply with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference_server.errors import ModelFileError
from inference_server.gguf_file import Blocks, GgufFile
from inference_server.model.packed_matrix import PackedMatrix, pack_blocks, pack_values
from inference_server.model.shape import SUPPORTED, ModelShape


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of the file; `order` says which of its rows comes first, second and so on, if not as stored."""

    name: str
    order: np.ndarray | None = None

    def in_order(self, rows: np.ndarray) -> np.ndarray:
        """[out, ...] as stored -> as used."""
        return rows if self.order is None else rows[self.order]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Tensors of the file one below the other, [out, in] in all. `bias` float32 [out]."""

    file: GgufFile
    parts: tuple[Part, ...]
    bias: np.ndarray | None = None

    def values(self) -> np.ndarray:
        """Float32. Raises ModelFileError."""
        return np.concatenate([part.in_order(self.file.tensor(part.name)) for part in self.parts])

    def packed(self) -> PackedMatrix:
        """As stored where all parts are stored in blocks of as many bits. Raises ModelFileError."""
        stored = [(part, self.file.blocks(part.name)) for part in self.parts]
        blocks = [
            Blocks(block.bits, part.in_order(block.codes), part.in_order(block.scales), part.in_order(block.offsets))
            for part, block in stored
            if block is not None
        ]
        bits = {block.bits for block in blocks}
        if len(blocks) < len(stored) or len(bits) > 1:
            return pack_values(self.values())
        return pack_blocks(
            Blocks(
                bits.pop(),
                np.concatenate([block.codes for block in blocks]),
                np.concatenate([block.scales for block in blocks]),
                np.concatenate([block.offsets for block in blocks]),
            )
        )


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Norms are float32. `query_norm` and `key_norm` [head_dim] only where the model has them."""

    attention_norm: np.ndarray
    qkv: Matrix
    query_norm: np.ndarray | None
    key_norm: np.ndarray | None
    attention_output: Matrix
    mlp_norm: np.ndarray
    gate_up: Matrix
    down: Matrix


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """`rope_divisors` float32 [head_dim / 2], where the file slows the rotation down."""

    embedding: Matrix
    layers: tuple[LayerWeights, ...]
    final_norm: np.ndarray
    head: Matrix
    rope_divisors: np.ndarray | None


def read_weights(file: GgufFile, shape: ModelShape) -> ModelWeights:
    """Raises ModelFileError if a tensor is missing, has another shape, or has no use here."""
    reader = _Reader(file, shape)
    embedding = reader.matrix("token_embd", shape.vocabulary, shape.dim)
    weights = ModelWeights(
        embedding=embedding,
        layers=tuple(reader.layer(index) for index in range(shape.layers)),
        final_norm=reader.vector("output_norm.weight", shape.dim),
        head=embedding if shape.tied else reader.matrix("output", shape.vocabulary, shape.dim),
        rope_divisors=reader.optional_vector("rope_freqs.weight", shape.head_dim // 2),
    )
    reader.check_all_used()
    return weights


class _Reader:
    def __init__(self, file: GgufFile, shape: ModelShape) -> None:
        self._file = file
        self._shape = shape
        self._used: set[str] = set()

    def layer(self, index: int) -> LayerWeights:
        shape, prefix = self._shape, f"blk.{index}."
        query_norm, key_norm = (
            self.optional_vector(f"{prefix}attn_{name}_norm.weight", shape.head_dim) for name in ("q", "k")
        )
        if (query_norm is None) != (key_norm is None):
            raise ModelFileError(f"{self._file.path}: {prefix}attn has norms for one of Q and K only")
        return LayerWeights(
            attention_norm=self.vector(prefix + "attn_norm.weight", shape.dim),
            qkv=self._qkv(prefix),
            query_norm=query_norm,
            key_norm=key_norm,
            attention_output=self.matrix(prefix + "attn_output", shape.dim, shape.heads * shape.head_dim),
            mlp_norm=self.vector(prefix + "ffn_norm.weight", shape.dim),
            gate_up=self._stacked(
                [self._part(f"{prefix}ffn_{name}.weight", shape.ffn, shape.dim) for name in ("gate", "up")]
            ),
            down=self.matrix(prefix + "ffn_down", shape.dim, shape.ffn),
        )

    def matrix(self, name: str, out_features: int, in_features: int) -> Matrix:
        return self._stacked([self._part(f"{name}.weight", out_features, in_features)])

    def vector(self, name: str, size: int) -> np.ndarray:
        self._use(name, (size,))
        return self._file.tensor(name)

    def optional_vector(self, name: str, size: int) -> np.ndarray | None:
        return self.vector(name, size) if name in self._file.tensor_names else None

    def check_all_used(self) -> None:
        unused = sorted(self._file.tensor_names - self._used)
        if unused:
            raise ModelFileError(f"{self._file.path}: the tensor {unused[0]} has no use here; {SUPPORTED}")

    def _qkv(self, prefix: str) -> Matrix:
        shape = self._shape
        parts, biases = [], []
        for name, heads in (("attn_q", shape.heads), ("attn_k", shape.kv_heads), ("attn_v", shape.kv_heads)):
            size = heads * shape.head_dim
            turned = name != "attn_v" and shape.interleaved_rotary
            order = separated_halves(heads, size) if turned else None
            part = self._part(f"{prefix}{name}.weight", size, shape.dim, order)
            bias = self.optional_vector(f"{prefix}{name}.bias", size)
            parts.append(part)
            if bias is not None:
                biases.append(part.in_order(bias))
        if len(biases) not in (0, len(parts)):
            raise ModelFileError(f"{self._file.path}: {prefix}attn has biases for some of Q, K and V only")
        return self._stacked(parts, np.concatenate(biases) if biases else None)

    def _stacked(self, parts: Sequence[Part], bias: np.ndarray | None = None) -> Matrix:
        return Matrix(self._file, tuple(parts), bias)

    def _part(self, name: str, out_features: int, in_features: int, order: np.ndarray | None = None) -> Part:
        self._use(name, (out_features, in_features))
        return Part(name, order)

    def _use(self, name: str, expected: tuple[int, ...]) -> None:
        shape = self._file.shape(name)
        self._used.add(name)
        if shape != expected:
            raise ModelFileError(f"{self._file.path}: {name} has the shape {list(shape)} instead of {list(expected)}")


def separated_halves(heads: int, rows: int) -> np.ndarray:
    """The order that puts the halves of each head apart again: GGUF stores Q and K of llama models alternating."""
    return np.arange(rows).reshape(heads, rows // heads // 2, 2).swapaxes(1, 2).reshape(rows)
