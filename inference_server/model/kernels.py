"""Chooses how the forward pass is computed on this machine."""

from dataclasses import dataclass
from typing import Literal

import onnxruntime
import structlog
import torch
from torch import Tensor

from inference_server.errors import ConfigError
from inference_server.model.attention import Attention, attend, attend_in_tiles
from inference_server.model.dense import DenseLayers
from inference_server.model.packed import PackedLayers
from inference_server.model.packed_matrix import BLOCK
from inference_server.model.plain import PlainLayers
from inference_server.model.shape import ModelShape
from inference_server.model.weights import ModelWeights

Compute = Literal["auto", "packed", "bfloat16", "float32"]
PROBE_ROWS = 33
PROBE_SIZES = (1, 2, 7, 16, 32)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kernels:
    """`kv_dtype` is what the keys and values are kept in."""

    dense: DenseLayers
    attend: Attention
    kv_dtype: torch.dtype


def load_kernels(
    shape: ModelShape, weights: ModelWeights, compute: Compute, device: torch.device, *, deterministic: bool
) -> Kernels:
    """`auto` is packed on the CPU, or float32 where the sizes of the model do not allow that, and bfloat16 on a GPU.

    Raises ConfigError for a choice that cannot be had, and ModelFileError.
    """
    misfit = _why_not_packed(shape, device)
    if compute == "auto":
        # Many processors multiply bfloat16 several times as slowly as float32.
        unpacked: Compute = "float32" if device.type == "cpu" else "bfloat16"
        compute = "packed" if misfit is None else unpacked
    if compute == "packed" and misfit is not None:
        raise ConfigError(f"weights cannot be multiplied packed: {misfit}; use another --compute")
    if deterministic and compute != "packed":
        raise ConfigError(f"deterministic answers need packed weights, not {compute}")
    log.info("kernels", compute=compute, device=str(device), deterministic=deterministic, **_versions())
    if compute != "packed":
        dtype = torch.float32 if compute == "float32" else torch.bfloat16
        return Kernels(PlainLayers(shape, weights, dtype, device), attend, dtype)
    # ONNX Runtime's threads go on spinning while PyTorch attends, so more threads of PyTorch would get in their way.
    torch.set_num_threads(1)
    dense = PackedLayers(shape, weights, one_kernel=deterministic)
    if deterministic:
        require_independent_rows(dense, shape)
    return Kernels(dense, attend_in_tiles if deterministic else attend, torch.bfloat16)


def _why_not_packed(shape: ModelShape, device: torch.device) -> str | None:
    if device.type != "cpu":
        return f"the device is {device.type}"
    widths = (shape.dim, shape.heads * shape.head_dim, shape.ffn)
    return None if all(width % BLOCK == 0 for width in widths) else f"a width of {widths} is no multiple of {BLOCK}"


def require_independent_rows(dense: DenseLayers, shape: ModelShape) -> None:
    """Raises ConfigError unless random rows come out bit-equal, computed at once and in parts of many sizes."""
    numbers = torch.Generator().manual_seed(0)
    tokens = torch.randint(shape.vocabulary, (PROBE_ROWS,), generator=numbers)
    attended = torch.randn(shape.layers, PROBE_ROWS, shape.heads * shape.head_dim, generator=numbers)
    whole = _pass(dense, tokens, attended, 0, PROBE_ROWS)
    for size in PROBE_SIZES:
        for start in range(0, PROBE_ROWS, size):
            end = min(start + size, PROBE_ROWS)
            if not torch.equal(_pass(dense, tokens, attended, start, end), whole[start:end]):
                raise ConfigError("this processor rounds a row by the size of its batch; run without --deterministic")


@torch.inference_mode()
def _pass(dense: DenseLayers, tokens: Tensor, attended: Tensor, start: int, end: int) -> Tensor:
    """The logits of these rows when attention gives what it is told to."""
    flow = dense.start(tokens[start:end], torch.arange(start, end))
    for rows in attended[:, start:end]:
        flow.advance(rows)
    return dense.logits(flow.stream)


def _versions() -> dict[str, str]:
    return {
        "processor": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "onnxruntime": onnxruntime.__version__,
    }
