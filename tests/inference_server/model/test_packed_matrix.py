"""Packed weights: nothing is lost of what a file stores in few bits."""

from pathlib import Path

import numpy as np
import pytest

from inference_server.gguf_file import GgufFile
from inference_server.model.packed_matrix import PackedMatrix, pack_blocks, pack_values
from inference_server.model.weights import Matrix, Part
from tests.inference_server.model.stored import write_tensors


def unpacked(packed: PackedMatrix) -> np.ndarray:
    """What the matrix stands for, by the definition."""
    codes = packed.codes.astype(np.float32)
    if packed.bits == 4:
        codes = np.stack((packed.codes & 15, packed.codes >> 4), axis=-1).reshape(*packed.scales.shape, 32)
        codes = codes.astype(np.float32)
    values = packed.scales[..., None] * (codes - 2 ** (packed.bits - 1))
    if packed.offsets is not None:
        values += packed.offsets[..., None]
    return values.reshape(packed.out_features, packed.in_features)


def random_values(rows: int = 6) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, 96)).astype(np.float32)


@pytest.mark.parametrize(("kind", "bits", "has_offsets"), [("Q4_0", 4, False), ("Q4_1", 4, True), ("Q8_0", 8, False)])
def test_blocks_stay_as_they_are_stored(tmp_path: Path, kind: str, bits: int, has_offsets: bool) -> None:
    file = write_tensors(tmp_path, {"w": random_values()}, kind)
    blocks = file.blocks("w")
    assert blocks is not None
    packed = pack_blocks(blocks)
    assert (packed.bits, packed.out_features, packed.in_features) == (bits, 6, 96)
    assert packed.codes.nbytes == 6 * 96 * bits // 8
    assert (packed.offsets is not None) == has_offsets
    assert np.allclose(unpacked(packed), file.tensor("w"), atol=1e-6)


def test_eight_bits_round_to_half_a_step() -> None:
    values = random_values()
    values[2, 32:64] = 0
    packed = pack_values(values)
    steps = np.repeat(packed.scales, 32, axis=1)
    assert (np.abs(unpacked(packed) - values) <= steps / 2 + 1e-7).all()
    assert not unpacked(packed)[2, 32:64].any()


def test_stacked_parts_keep_their_order(tmp_path: Path) -> None:
    file = write_tensors(tmp_path, {"a": random_values(4), "b": random_values(2)}, "Q4_1")
    matrix = Matrix(file, (Part("a", np.array([2, 0, 3, 1])), Part("b")))
    expected = np.concatenate((file.tensor("a")[[2, 0, 3, 1]], file.tensor("b")))
    assert np.array_equal(matrix.values(), expected)
    assert np.allclose(unpacked(matrix.packed()), expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["F16", "Q8_0"])
def test_one_part_of_more_bits_gives_all_of_them_eight(tmp_path: Path, kind: str) -> None:
    mixed = write_tensors(tmp_path, {"a": random_values(4), "b": random_values(2)}, "Q4_1", {"b": kind})
    packed = Matrix(mixed, (Part("a"), Part("b"))).packed()
    assert packed.bits == 8
    expected = np.concatenate((mixed.tensor("a"), mixed.tensor("b")))
    assert np.abs(unpacked(packed) - expected).max() < np.abs(expected).max() / 250


def test_other_types_have_no_blocks(tmp_path: Path) -> None:
    file = write_tensors(tmp_path, {"w": random_values()}, "F16")
    assert file.blocks("w") is None


@pytest.mark.model
def test_bundled_matrices_are_four_bit_and_the_head_is_exact(bundled_path: Path) -> None:
    file = GgufFile.open(bundled_path)
    packed = Matrix(file, (Part("blk.3.ffn_down.weight"),)).packed()
    assert packed.bits == 4
    assert np.allclose(unpacked(packed), file.tensor("blk.3.ffn_down.weight"), atol=1e-5)
    head = Matrix(file, (Part("token_embd.weight"),)).packed()
    assert head.bits == 8
    assert np.allclose(unpacked(head), file.tensor("token_embd.weight"), atol=1e-5)
