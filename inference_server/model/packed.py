"""The dense layers on packed weights, by ONNX Runtime. The fastest way on a CPU, for few rows above all."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import onnxruntime
import psutil
import torch
from onnx import TensorProto
from torch import Tensor

from inference_server.model.packed_graph import first_graph, head_graph, last_graph, next_graph
from inference_server.model.rotary import Rotary
from inference_server.model.shape import ModelShape
from inference_server.model.weights import ModelWeights

ELEMENT_TYPES = MappingProxyType({torch.float32: TensorProto.FLOAT, torch.bfloat16: TensorProto.BFLOAT16})
KEPT_BINDINGS_UP_TO_ROWS = 32
"""Binding anew costs half a millisecond, which shows in a decode step and not in a prefill chunk."""


class PackedLayers:
    """Implements DenseLayers on the CPU for a KV pool in bfloat16.

    With `one_kernel` a lone row gets a companion: one row is multiplied by another kernel than several are, which
    rounds otherwise.
    """

    def __init__(self, shape: ModelShape, weights: ModelWeights, *, one_kernel: bool = False) -> None:
        self._shape = shape
        self._least_rows = 2 if one_kernel else 1
        self._embedding = torch.from_numpy(weights.embedding.values()).bfloat16()
        self._rotary = Rotary(shape, weights.rope_divisors, torch.device("cpu"))
        layers = weights.layers
        self._sessions = [
            _session(first_graph(shape, weights)),
            *(_session(next_graph(shape, *pair)) for pair in itertools.pairwise(layers)),
            _session(last_graph(shape, layers[-1])),
        ]
        self._head = _session(head_graph(shape, weights))
        self._buffers = _Buffers(shape, KEPT_BINDINGS_UP_TO_ROWS)
        self._bindings: dict[int, Sequence[onnxruntime.IOBinding]] = {}

    def start(self, tokens: Tensor, positions: Tensor) -> "PackedFlow":
        rows = len(tokens)
        computed = max(rows, self._least_rows)
        if computed > self._buffers.rows:
            self._buffers = _Buffers(self._shape, computed)
            self._bindings.clear()
        buffers = self._buffers
        buffers.streams[0][:rows] = self._embedding[tokens]
        buffers.cosines[:rows], buffers.sines[:rows] = self._rotary.at(positions)
        return PackedFlow(self._shape, self._sessions, self._bound(computed), buffers, rows)

    def logits(self, stream: Tensor) -> Tensor:
        rows = len(stream)
        if rows < self._least_rows:
            stream = stream.expand(self._least_rows, -1)
        stream = stream.contiguous()  # A binding holds an address: the tensor has to outlive the run.
        logits = torch.empty(len(stream), self._shape.vocabulary)
        _run(self._head, _bind(self._head, {"stream": stream}, {"logits": logits}))
        return logits[:rows]

    def _bound(self, rows: int) -> Sequence[onnxruntime.IOBinding]:
        bindings = self._bindings.get(rows)
        if bindings is None:
            bindings = self._buffers.bind(self._sessions, rows)
            if rows <= KEPT_BINDINGS_UP_TO_ROWS:
                self._bindings[rows] = bindings
        return bindings


class PackedFlow:
    """Implements DenseFlow over the buffers that it shares with all other flows."""

    def __init__(
        self,
        shape: ModelShape,
        sessions: Sequence[onnxruntime.InferenceSession],
        bindings: Sequence[onnxruntime.IOBinding],
        buffers: "_Buffers",
        rows: int,
    ) -> None:
        self._steps = iter(zip(sessions, bindings, strict=True))
        self._attended = buffers.attended[:rows]
        self.queries = buffers.queries[:rows].view(rows, shape.heads, shape.head_dim)
        self.keys_values = buffers.keys_values[:rows].view(rows, 2 * shape.kv_heads, shape.head_dim)
        self.stream = buffers.streams[shape.layers % 2][:rows]
        """Filled behind the last layer."""
        _run(*next(self._steps))

    def advance(self, attended: Tensor) -> None:
        self._attended.copy_(attended)
        _run(*next(self._steps))


class _Buffers:
    """What the graphs read and write, for at most so many rows. The stream alternates between two of them."""

    def __init__(self, shape: ModelShape, rows: int) -> None:
        heads, kv_heads = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.rows = rows
        self.streams = torch.zeros(rows, shape.dim), torch.zeros(rows, shape.dim)
        self.cosines, self.sines = (torch.zeros(rows, shape.head_dim // 2) for _ in range(2))
        self.queries, self.attended = (torch.zeros(rows, heads, dtype=torch.bfloat16) for _ in range(2))
        self.keys_values = torch.zeros(rows, 2 * kv_heads, dtype=torch.bfloat16)

    def bind(self, sessions: Sequence[onnxruntime.InferenceSession], rows: int) -> Sequence[onnxruntime.IOBinding]:
        """One binding for each session in their order."""
        bindings = []
        for index, session in enumerate(sessions):
            named = {
                "stream": self.streams[max(0, index - 1) % 2],
                "next_stream": self.streams[index % 2],
                "attended": self.attended,
                "queries": self.queries,
                "keys_values": self.keys_values,
                "cosines": self.cosines,
                "sines": self.sines,
            }
            inputs, outputs = (
                {end.name: named[end.name][:rows] for end in ends}
                for ends in (session.get_inputs(), session.get_outputs())
            )
            bindings.append(_bind(session, inputs, outputs))
        return bindings


def _session(graph: bytes) -> onnxruntime.InferenceSession:
    _share_resources()
    options = onnxruntime.SessionOptions()
    options.use_per_session_threads = False
    options.add_session_config_entry("session.use_env_allocators", "1")
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


@functools.cache
def _share_resources() -> None:
    """All graphs of the process use one pool of threads and one of memory, made before the first of them.

    The threads spin from one graph to the next: waking them would cost as much as a third of a decode step.
    """
    onnxruntime.set_global_thread_pool_sizes(psutil.cpu_count(logical=False) or 1, 1)
    memory = onnxruntime.OrtMemoryInfo(
        "Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT
    )
    onnxruntime.create_and_register_allocator(memory, onnxruntime.OrtArenaCfg(0, -1, -1, -1))


def _bind(
    session: onnxruntime.InferenceSession, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
) -> onnxruntime.IOBinding:
    binding = session.io_binding()
    for bind, tensors in ((binding.bind_input, inputs), (binding.bind_output, outputs)):
        for name, tensor in tensors.items():
            bind(name, "cpu", 0, ELEMENT_TYPES[tensor.dtype], tuple(tensor.shape), tensor.data_ptr())
    return binding


def _run(session: onnxruntime.InferenceSession, binding: onnxruntime.IOBinding) -> None:
    session.run_with_iobinding(binding)
