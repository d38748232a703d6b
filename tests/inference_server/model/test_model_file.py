"""Which model files are taken: sizes from the metadata, tensors in the right shapes, nothing ignored in silence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from inference_server.errors import ModelFileError
from inference_server.gguf_file import GgufFile
from inference_server.model.runner import load_opened_model
from inference_server.model.shape import ModelShape, read_shape
from inference_server.model.weights import separated_halves
from tests.inference_server.model.items import in_run


class EditedFile(GgufFile):
    """A real file with some metadata or tensors replaced; None removes one."""

    def __init__(
        self, file: GgufFile, *, metadata: Mapping[str, Any] | None = None, tensors: Mapping[str, Any] | None = None
    ) -> None:
        edited = {**file.metadata, **(metadata or {})}
        super().__init__(file.path, {key: value for key, value in edited.items() if value is not None}, {})
        self._arrays = {name: file.tensor(name) for name in file.tensor_names} | dict(tensors or {})

    @property
    def tensor_names(self) -> frozenset[str]:
        return frozenset(name for name, values in self._arrays.items() if values is not None)

    def tensor(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return self._arrays[name].shape if name in self.tensor_names else super().shape(name)

    def blocks(self, name: str) -> None:
        return None


@pytest.fixture
def tiny_file(tiny_path: Path) -> GgufFile:
    return GgufFile.open(tiny_path)


@pytest.mark.model
def test_shape_of_the_bundled_model(bundled_file: GgufFile) -> None:
    shape = read_shape(bundled_file)
    assert shape == ModelShape(
        layers=30,
        dim=576,
        heads=9,
        kv_heads=3,
        head_dim=64,
        ffn=1536,
        context=8192,
        vocabulary=49_152,
        rope_base=100_000.0,
        norm_epsilon=pytest.approx(1e-5),
        tied=True,
        interleaved_rotary=True,
    )
    assert shape.group == 3
    assert shape.kv_bytes_per_token(2) == 23_040


def test_defaults_of_missing_metadata(tiny_file: GgufFile) -> None:
    edits = {"llama.attention.head_count_kv": None, "llama.rope.freq_base": None, "llama.rope.dimension_count": None}
    shape = read_shape(EditedFile(tiny_file, metadata=edits))
    assert (shape.kv_heads, shape.rope_base, shape.head_dim) == (4, 10_000.0, 16)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("general.architecture", "gemma3", "'gemma3' is not supported; supported are dense llama, qwen2"),
        ("general.architecture", None, "None is not supported"),
        ("llama.expert_count", 8, "expert_count = 8 is not supported"),
        ("llama.attention.sliding_window", 4096, "sliding_window = 4096 is not supported"),
        ("llama.rope.scaling.type", "yarn", "rope.scaling.type = 'yarn' is not supported"),
        ("llama.block_count", None, "llama.block_count is NoneType"),
        ("llama.block_count", 0, "llama.block_count is 0"),
        ("llama.block_count", 2**40, "llama.block_count is 1099511627776"),
        ("llama.embedding_length", "64", "llama.embedding_length is str"),
        ("llama.attention.head_count", [4, 4], "llama.attention.head_count is list"),
        ("llama.attention.head_count", True, "llama.attention.head_count is True"),
        ("llama.attention.layer_norm_rms_epsilon", float("nan"), "epsilon is nan"),
        ("llama.attention.layer_norm_rms_epsilon", None, "epsilon is NoneType"),
        ("llama.rope.freq_base", 0.0, "freq_base is 0.0"),
        ("llama.attention.head_count_kv", 3, "4 heads do not share 3 KV heads evenly"),
        ("llama.rope.dimension_count", 8, "partial rotary"),
        ("llama.attention.value_length", 8, "partial rotary"),
        ("tokenizer.ggml.tokens", None, "no tokenizer.ggml.tokens"),
        ("tokenizer.ggml.tokens", 7, "no tokenizer.ggml.tokens"),
    ],
)
def test_metadata_outside_the_supported_range_is_refused(
    tiny_file: GgufFile, key: str, value: object, reason: str
) -> None:
    file = EditedFile(tiny_file, metadata={key: value})
    with pytest.raises(ModelFileError) as raised:
        read_shape(file)
    assert reason in str(raised.value)
    assert str(raised.value).startswith(str(tiny_file.path))


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("blk.1.attn_v.weight", None, "has no tensor blk.1.attn_v.weight"),
        ("blk.0.ffn_up.weight", np.zeros((4, 4), np.float32), r"shape \[4, 4\] instead of \[96, 64\]"),
        ("output_norm.weight", np.zeros((64, 1), np.float32), r"shape \[64, 1\] instead of \[64\]"),
        ("blk.0.attn_output.bias", np.zeros(64, np.float32), "attn_output.bias has no use here; supported are"),
        ("blk.2.attn_norm.weight", np.zeros(64, np.float32), "blk.2.attn_norm.weight has no use here"),
        ("blk.0.attn_q.bias", np.zeros(64, np.float32), "biases for some of Q, K and V only"),
        ("blk.0.attn_q_norm.weight", np.zeros(16, np.float32), "norms for one of Q and K only"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tiny_file: GgufFile, name: str, values: object, reason: str) -> None:
    with pytest.raises(ModelFileError, match=reason):
        load_opened_model(EditedFile(tiny_file, tensors={name: values}), num_slots=8)


def test_rope_divisors_change_positions_behind_the_first(tiny_file: GgufFile) -> None:
    plain = load_opened_model(tiny_file, num_slots=32, compute="float32")
    ones, fours = np.ones(8, np.float32), np.full(8, 4.0, np.float32)
    for divisors, equal in ((ones, True), (fours, False)):
        file = EditedFile(tiny_file, tensors={"rope_freqs.weight": divisors})
        scaled = load_opened_model(file, num_slots=32, compute="float32")
        batch = [in_run([40, 50, 60, 70], 0)]
        assert torch.allclose(scaled.logits(batch), plain.logits(batch), atol=1e-4) == equal


def test_separated_halves_of_a_head() -> None:
    stored = np.array([0, 10, 1, 11, 20, 30, 21, 31])
    assert stored[separated_halves(heads=2, rows=8)].tolist() == [0, 1, 10, 11, 20, 21, 30, 31]
