"""The sizes of a model, read from the metadata of its file. Refuses what the transformer does not compute."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference_server.errors import ModelFileError
from inference_server.gguf_file import GgufFile

ARCHITECTURES = ("llama", "qwen2", "qwen3")
SUPPORTED = "supported are dense llama, qwen2 and qwen3 models with full attention"
# Metadata that changes the computation in a way that is not implemented, unless it has one of these values.
HARMLESS_VALUES: Mapping[str, tuple[object, ...]] = {
    "expert_count": (0,),
    "attention.sliding_window": (0,),
    "attention.scale": (),
    "attention.clamp_kqv": (0.0,),
    "rope.scaling.type": ("none",),
    "rope.scale_linear": (1.0,),
    "logit_scale": (),
    "embedding_scale": (),
    "residual_scale": (),
}


@dataclass(frozen=True, slots=True)
class ModelShape:
    """`context` and `vocabulary` count tokens.

    `interleaved_rotary`: in the file, the Q and K rows alternate between the two halves of each head.
    """

    layers: int
    dim: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    context: int
    vocabulary: int
    rope_base: float
    norm_epsilon: float
    tied: bool
    interleaved_rotary: bool

    @property
    def group(self) -> int:
        """How many query heads share one KV head."""
        return self.heads // self.kv_heads

    def kv_bytes_per_token(self, element_bytes: int) -> int:
        return self.layers * 2 * self.kv_heads * self.head_dim * element_bytes


def read_shape(file: GgufFile) -> ModelShape:
    """Raises ModelFileError, naming what is supported."""
    architecture = file.metadata.get("general.architecture")
    if architecture not in ARCHITECTURES:
        raise ModelFileError(f"{file.path}: the architecture {architecture!r} is not supported; {SUPPORTED}")
    fields = _ArchitectureFields(file, architecture)
    for name, harmless in HARMLESS_VALUES.items():
        value = fields.value(name)
        if value is not None and value not in harmless:
            raise ModelFileError(f"{file.path}: {architecture}.{name} = {value!r} is not supported; {SUPPORTED}")
    heads, dim = fields.integer("attention.head_count"), fields.integer("embedding_length")
    shape = ModelShape(
        layers=fields.integer("block_count"),
        dim=dim,
        heads=heads,
        kv_heads=fields.integer("attention.head_count_kv", heads),
        head_dim=fields.integer("attention.key_length", dim // heads),
        ffn=fields.integer("feed_forward_length"),
        context=fields.integer("context_length"),
        vocabulary=_vocabulary(file),
        rope_base=fields.positive("rope.freq_base", 10_000.0),
        norm_epsilon=fields.positive("attention.layer_norm_rms_epsilon"),
        tied="output.weight" not in file.tensor_names,
        interleaved_rotary=architecture == "llama",
    )
    _check_divisions(file, fields, shape)
    return shape


def _vocabulary(file: GgufFile) -> int:
    tokens = file.metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens:
        raise ModelFileError(f"{file.path}: has no tokenizer.ggml.tokens")
    return len(tokens)


def _check_divisions(file: GgufFile, fields: "_ArchitectureFields", shape: ModelShape) -> None:
    if shape.heads % shape.kv_heads or shape.head_dim % 2:
        raise ModelFileError(f"{file.path}: {shape.heads} heads do not share {shape.kv_heads} KV heads evenly")
    rotated = fields.integer("rope.dimension_count", shape.head_dim)
    values = fields.integer("attention.value_length", shape.head_dim)
    if rotated != shape.head_dim or values != shape.head_dim:
        raise ModelFileError(f"{file.path}: heads with partial rotary embedding are not supported; {SUPPORTED}")


class _ArchitectureFields:
    """Metadata under the architecture's prefix, checked for type and range."""

    def __init__(self, file: GgufFile, architecture: str) -> None:
        self._file = file
        self._prefix = architecture

    def value(self, name: str) -> Any:
        return self._file.metadata.get(f"{self._prefix}.{name}")

    def integer(self, name: str, default: int | None = None) -> int:
        value = self.value(name)
        if value is None and default:
            return default
        if type(value) is not int or not 0 < value < 2**31:
            raise self._wrong(name, value)
        return value

    def positive(self, name: str, default: float | None = None) -> float:
        value = self.value(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, float) or not 0.0 < value < float("inf"):
            raise self._wrong(name, value)
        return value

    def _wrong(self, name: str, value: Any) -> ModelFileError:
        shown = value if isinstance(value, int | float) else type(value).__name__
        return ModelFileError(f"{self._file.path}: {self._prefix}.{name} is {shown}, which is not usable")
