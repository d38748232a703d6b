"""The dense layers as ONNX graphs over packed weights: one graph from each attention to the next.

ONNX Runtime multiplies four- and eight-bit blocks as they are. It rounds the rows to eight bits for that, each block of
a row on its own, so that rows do not depend on each other.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from inference_server.model.packed_matrix import BLOCK, PackedMatrix
from inference_server.model.shape import ModelShape
from inference_server.model.weights import LayerWeights, Matrix, ModelWeights

ROUNDS_ROWS_TO_EIGHT_BITS = 4
"""The `accuracy_level` of MatMulNBits under which it multiplies integers."""
CONTRIB = "com.microsoft"
OPSETS = (helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1))
IR_VERSION = 10
FLOAT, HALF = TensorProto.FLOAT, TensorProto.BFLOAT16


class _Graph:
    """Collects the nodes of one graph. Every method returns the name of what it computes."""

    def __init__(self, shape: ModelShape) -> None:
        self._shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._count = 0

    def constant(self, values: "np.ndarray | Sequence[int]") -> str:
        name = self._name()
        array = values if isinstance(values, np.ndarray) else np.array(values, dtype=np.int64)
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", into: str = "", **attributes: Any) -> str:
        """`into` names a result that leaves the graph."""
        return self.nodes(kind, *inputs, domain=domain, into=(into or self._name(),), **attributes)[0]

    def nodes(self, kind: str, *inputs: str, into: Sequence[str], domain: str = "", **attributes: Any) -> Sequence[str]:
        self._nodes.append(helper.make_node(kind, inputs, into, domain=domain, **attributes))
        return into

    def linear(self, rows: str, matrix: Matrix, into: str = "") -> str:
        packed = matrix.packed()
        product = self._product(rows, packed, into if packed.offsets is None and matrix.bias is None else "")
        if packed.offsets is not None:
            product = self._add_offsets(rows, product, packed, into if matrix.bias is None else "")
        return product if matrix.bias is None else self.node("Add", product, self.constant(matrix.bias), into=into)

    def norm(self, rows: str, weight: np.ndarray) -> str:
        return self.node(
            "SimplifiedLayerNormalization", rows, self.constant(weight), axis=-1, epsilon=self._shape.norm_epsilon
        )

    def add_and_norm(self, stream: str, change: str, weight: np.ndarray, into: str = "") -> tuple[str, str]:
        """The changed residual stream, and its norm."""
        changed, normed = into or self._name(), self._name()
        self.nodes(
            "SkipSimplifiedLayerNormalization",
            *(stream, change, self.constant(weight)),
            into=(normed, "", "", changed),
            domain=CONTRIB,
            epsilon=self._shape.norm_epsilon,
        )
        return changed, normed

    def project(self, normed: str, layer: LayerWeights) -> None:
        """Leaves the graph as `queries` and `keys_values`."""
        shape = self._shape
        queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        turning, values = self.nodes(
            *("Split", self.linear(normed, layer.qkv), self.constant([queries + keys, keys])),
            into=(self._name(), self._name()),
            axis=-1,
        )
        if layer.query_norm is not None and layer.key_norm is not None:
            turning = self._norm_heads(turning, layer.query_norm, layer.key_norm)
        turned = self._rotate(turning)
        turned_queries, turned_keys = self.nodes(
            "Split", turned, self.constant([queries, keys]), into=(self._name(), self._name()), axis=-1
        )
        self.node("Cast", turned_queries, to=HALF, into="queries")
        self.node("Cast", self.node("Concat", turned_keys, values, axis=-1), to=HALF, into="keys_values")

    def advance(self, layer: LayerWeights) -> tuple[str, str]:
        """From `attended` and `stream` to the stream in front of the MLP's sum, and what the MLP adds."""
        attended = self.node("Cast", "attended", to=FLOAT)
        stream, normed = self.add_and_norm("stream", self.linear(attended, layer.attention_output), layer.mlp_norm)
        gate, up = self.nodes(
            "Split", self.linear(normed, layer.gate_up), into=(self._name(), self._name()), axis=-1, num_outputs=2
        )
        activated = self.node("Mul", self.node("QuickGelu", gate, domain=CONTRIB, alpha=1.0), up)
        return stream, self.linear(activated, layer.down)

    def model(self, inputs: Sequence[str], outputs: Sequence[str], vocabulary: int = 0) -> bytes:
        """The graph, serialised, with these of the names that cross its border."""
        shape = self._shape
        border = {
            "stream": (FLOAT, shape.dim),
            "next_stream": (FLOAT, shape.dim),
            "attended": (HALF, shape.heads * shape.head_dim),
            "queries": (HALF, shape.heads * shape.head_dim),
            "keys_values": (HALF, 2 * shape.kv_heads * shape.head_dim),
            "cosines": (FLOAT, shape.head_dim // 2),
            "sines": (FLOAT, shape.head_dim // 2),
            "logits": (FLOAT, vocabulary),
        }
        entering, leaving = (
            [helper.make_tensor_value_info(name, border[name][0], ["rows", border[name][1]]) for name in names]
            for names in (inputs, outputs)
        )
        graph = helper.make_graph(self._nodes, "dense", entering, leaving, self._constants)
        model = helper.make_model(graph, opset_imports=OPSETS, ir_version=IR_VERSION)
        return bytes(model.SerializeToString())

    def _product(self, rows: str, packed: PackedMatrix, into: str) -> str:
        return self.node(
            "MatMulNBits",
            *(rows, self.constant(packed.codes), self.constant(packed.scales.reshape(-1))),
            domain=CONTRIB,
            into=into,
            K=packed.in_features,
            N=packed.out_features,
            bits=packed.bits,
            block_size=BLOCK,
            accuracy_level=ROUNDS_ROWS_TO_EIGHT_BITS,
        )

    def _add_offsets(self, rows: str, product: str, packed: PackedMatrix, into: str) -> str:
        """A block's offset counts once for each element of the row: so it is multiplied with their sum."""
        assert packed.offsets is not None
        blocks = self.node("Reshape", rows, self.constant([-1, packed.in_features // BLOCK, BLOCK]))
        sums = self.node("ReduceSum", blocks, self.constant([2]), keepdims=0)
        return self.node("Gemm", sums, self.constant(packed.offsets.T), product, into=into)

    def _norm_heads(self, turning: str, query_norm: np.ndarray, key_norm: np.ndarray) -> str:
        shape = self._shape
        heads = self.node("Reshape", turning, self.constant([-1, shape.heads + shape.kv_heads, shape.head_dim]))
        queries, keys = self.nodes(
            *("Split", heads, self.constant([shape.heads, shape.kv_heads])),
            into=(self._name(), self._name()),
            axis=1,
        )
        normed = self.node("Concat", self.norm(queries, query_norm), self.norm(keys, key_norm), axis=1)
        return self.node("Reshape", normed, self.constant([0, -1]))

    def _rotate(self, turning: str) -> str:
        """The tables hold the angles of the batch's rows, so row i is at their position i."""
        batch = self.node("Unsqueeze", turning, self.constant([0]))
        turned = self.node(
            "RotaryEmbedding",
            *(batch, self.constant([0]), "cosines", "sines"),
            domain=CONTRIB,
            num_heads=self._shape.heads + self._shape.kv_heads,
        )
        return self.node("Squeeze", turned, self.constant([0]))

    def _name(self) -> str:
        self._count += 1
        return f"t{self._count}"


ANGLES = ("cosines", "sines")
PROJECTED = ("queries", "keys_values")


def first_graph(shape: ModelShape, weights: ModelWeights) -> bytes:
    """stream, cosines, sines -> queries, keys_values."""
    graph = _Graph(shape)
    graph.project(graph.norm("stream", weights.layers[0].attention_norm), weights.layers[0])
    return graph.model(("stream", *ANGLES), PROJECTED)


def next_graph(shape: ModelShape, layer: LayerWeights, following: LayerWeights) -> bytes:
    """attended, stream, cosines, sines -> next_stream, queries, keys_values."""
    graph = _Graph(shape)
    stream, change = graph.advance(layer)
    _, normed = graph.add_and_norm(stream, change, following.attention_norm, into="next_stream")
    graph.project(normed, following)
    return graph.model(("attended", "stream", *ANGLES), ("next_stream", *PROJECTED))


def last_graph(shape: ModelShape, layer: LayerWeights) -> bytes:
    """attended, stream -> next_stream."""
    graph = _Graph(shape)
    graph.node("Add", *graph.advance(layer), into="next_stream")
    return graph.model(("attended", "stream"), ("next_stream",))


def head_graph(shape: ModelShape, weights: ModelWeights) -> bytes:
    """stream -> logits."""
    graph = _Graph(shape)
    graph.linear(graph.norm("stream", weights.final_norm), weights.head, into="logits")
    return graph.model(("stream",), ("logits",), shape.vocabulary)
