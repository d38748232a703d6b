"""The model behind the engine's ModelRunner protocol: loads a file, computes batches, samples."""

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from inference_server.errors import ConfigError
from inference_server.gguf_file import GgufFile
from inference_server.model.batch import lay_out
from inference_server.model.errors import NonFiniteLogits
from inference_server.model.kernels import Compute, load_kernels
from inference_server.model.kv_pool import KvPool
from inference_server.model.sampler import Sampler
from inference_server.model.shape import ModelShape, read_shape
from inference_server.model.transformer import Transformer
from inference_server.model.weights import read_weights
from inference_server.model_runner import BatchItem


def load_model(
    path: Path,
    *,
    num_slots: int | None = None,
    kv_bytes: int | None = None,
    compute: Compute = "auto",
    deterministic: bool = False,
    device: str = "cpu",
    banned_token_ids: Iterable[int] = (),
) -> "TorchModelRunner":
    """Opens a GGUF file and makes it ready to run. The KV pool is given either in slots or in bytes.

    Raises ModelFileError for the file and ConfigError for the size of the pool or the device.
    """
    return load_opened_model(
        GgufFile.open(path),
        num_slots=num_slots,
        kv_bytes=kv_bytes,
        compute=compute,
        deterministic=deterministic,
        device=device,
        banned_token_ids=banned_token_ids,
    )


def load_opened_model(
    file: GgufFile,
    *,
    num_slots: int | None = None,
    kv_bytes: int | None = None,
    compute: Compute = "auto",
    deterministic: bool = False,
    device: str = "cpu",
    banned_token_ids: Iterable[int] = (),
) -> "TorchModelRunner":
    """As load_model, for a file whose metadata was needed before."""
    shape, chosen = read_shape(file), torch.device(device)
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("this PyTorch finds no CUDA device")
    kernels = load_kernels(shape, read_weights(file, shape), compute, chosen, deterministic=deterministic)
    slots = _pool_size(shape.kv_bytes_per_token(kernels.kv_dtype.itemsize), num_slots, kv_bytes)
    pool = KvPool(shape, slots, kernels.kv_dtype, chosen)
    sampler = Sampler(shape.vocabulary, banned_token_ids, chosen)
    return TorchModelRunner(shape, Transformer(kernels.dense, kernels.attend, pool), pool, sampler)


def _pool_size(bytes_per_token: int, num_slots: int | None, kv_bytes: int | None) -> int:
    if (num_slots is None) == (kv_bytes is None):
        raise ConfigError("the KV pool needs a size, either in slots or in bytes")
    slots = num_slots if num_slots is not None else (kv_bytes or 0) // bytes_per_token
    if slots < 1:
        raise ConfigError(f"the KV memory is too small; one token of this model needs {bytes_per_token} bytes")
    return slots


class TorchModelRunner:
    """Implements ModelRunner. Not thread-safe: one engine thread drives it."""

    def __init__(self, shape: ModelShape, transformer: Transformer, pool: KvPool, sampler: Sampler) -> None:
        self.shape = shape
        self.pool = pool
        self._transformer = transformer
        self._sampler = sampler

    @property
    def num_slots(self) -> int:
        return self.pool.num_slots

    @property
    def kv_bytes_per_token(self) -> int:
        return self.shape.kv_bytes_per_token(self.pool.tensor.element_size())

    @torch.inference_mode()
    def run(self, batch: Sequence[BatchItem]) -> list[int | None]:
        """Raises NonFiniteLogits, naming the items; the KV of all rows is written nevertheless."""
        drawing = [index for index, item in enumerate(batch) if item.draw is not None]
        draws = [item.draw for item in batch if item.draw is not None]
        chosen: list[int | None] = [None] * len(batch)
        last_rows = self._last_rows(batch)
        # The last row of an item has seen all others of it, so a chunk that computes no logits is judged by it too.
        broken = (~last_rows.isfinite().all(dim=1)).nonzero().flatten().tolist()
        if broken:
            raise NonFiniteLogits(broken)
        if not drawing:
            return chosen
        try:
            sampled = self._sampler.sample(self._transformer.logits(last_rows[drawing]), draws)
        except NonFiniteLogits as error:
            raise NonFiniteLogits([drawing[row] for row in error.items]) from error
        for index, token in zip(drawing, sampled, strict=True):
            chosen[index] = token
        return chosen

    @torch.inference_mode()
    def logits(self, batch: Sequence[BatchItem]) -> Tensor:
        """Writes the KV of all rows and returns the logits behind each item's last row, [items, vocabulary] float32."""
        return self._transformer.logits(self._last_rows(batch))

    @property
    def layers(self) -> int:
        return self.shape.layers

    @property
    def heads(self) -> int:
        return self.shape.heads

    @torch.inference_mode()
    def attention(self, token: int, slots: Sequence[int], layer: int) -> "list[array[float]]":
        device = self.pool.tensor.device
        one, position, kept = (
            torch.tensor(values, device=device) for values in ([token], [len(slots) - 1], list(slots))
        )
        weights = self._transformer.attention(one, position, kept, layer)
        return [array("f", head) for head in weights.tolist()]

    @torch.inference_mode()
    def copy_kv(self, source: Sequence[int], target_start: int) -> None:
        """The slots and the target run may overlap. Raises ValueError if one of them leaves the pool."""
        self.pool.copy(source, target_start)

    def _last_rows(self, batch: Sequence[BatchItem]) -> Tensor:
        """Computes the batch; [items, dim] is what stands behind the last row of each item."""
        layout = lay_out(batch, self.shape, self.num_slots, self.pool.tensor.device)
        stream = self._transformer.forward(layout)
        return stream[[span.last - 1 for span in layout.spans]]
