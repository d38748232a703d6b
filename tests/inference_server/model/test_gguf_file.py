"""Reading GGUF files: the honest ones exactly, the hostile ones never further than one clear line."""

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference_server.errors import ModelFileError
from inference_server.gguf_file import GgufFile
from tests.tiny_model import CHAT_TEMPLATE, TinyShape, tiny_weights

HUGE = 2**62
U8, U32, STRING, ARRAY = 0, 4, 8, 9


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def header(
    pairs: bytes = b"", num_pairs: int = 0, tensors: bytes = b"", num_tensors: int = 0, version: int = 3
) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, num_tensors, num_pairs) + pairs + tensors


def pair(value_type: int, value: bytes, key: bytes = b"key") -> bytes:
    return text(key) + struct.pack("<I", value_type) + value


def tensor(dimensions: list[int], kind: int = 0, offset: int = 0, name: bytes = b"t") -> bytes:
    sizes = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
    return text(name) + sizes + struct.pack("<IQ", kind, offset)


def one_tensor(*arguments: object, **named: object) -> bytes:
    return header(tensors=tensor(*arguments, **named), num_tensors=1) + bytes(256)  # type: ignore[arg-type]


def open_bytes(folder: Path, content: bytes) -> GgufFile:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return GgufFile.open(path)


def test_metadata_are_python_values(tiny_path: Path) -> None:
    metadata = GgufFile.open(tiny_path).metadata
    assert metadata["general.architecture"] == "llama"
    assert metadata["llama.block_count"] == 2
    assert metadata["llama.rope.freq_base"] == 10_000.0
    assert metadata["tokenizer.ggml.add_bos_token"] is False
    assert metadata["tokenizer.chat_template"] == CHAT_TEMPLATE
    assert metadata["tokenizer.ggml.tokens"][260] == "ĊĊ"
    assert metadata["tokenizer.ggml.token_type"][:5] == [3, 3, 3, 3, 1]


def test_tensors_are_float32_in_out_in_order(tiny_path: Path) -> None:
    file, weights = GgufFile.open(tiny_path), tiny_weights(TinyShape())
    assert file.tensor_names == weights.keys()
    for name, values in weights.items():
        assert file.tensor(name).dtype == np.float32
        assert np.array_equal(file.tensor(name), values)


def test_unknown_tensor_is_refused(tiny_path: Path) -> None:
    with pytest.raises(ModelFileError, match="has no tensor nothing"):
        GgufFile.open(tiny_path).tensor("nothing")


@pytest.mark.parametrize("kind", ["Q4_1", "Q8_0", "F16", "BF16"])
def test_quantised_tensors_equal_the_library(tmp_path: Path, kind: str) -> None:
    values = np.random.default_rng(0).standard_normal((6, 64)).astype(np.float32)
    quantization = gguf.GGMLQuantizationType[kind]
    raw = gguf.quants.quantize(values, quantization)
    writer = gguf.GGUFWriter(tmp_path / "q.gguf", "llama")
    writer.add_tensor("w", raw, raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read = GgufFile.open(tmp_path / "q.gguf").tensor("w")
    assert np.array_equal(read, gguf.quants.dequantize(raw, quantization))
    assert np.abs(read - values).max() < 0.5


@pytest.mark.model
def test_bundled_file_equals_the_library_reader(bundled_file: GgufFile) -> None:
    assert len(bundled_file.tensor_names) == 272
    assert bundled_file.metadata["llama.context_length"] == 8192
    assert len(bundled_file.metadata["tokenizer.ggml.tokens"]) == 49_152
    assert bundled_file.tensor("token_embd.weight").shape == (49_152, 576)
    assert bundled_file.tensor("blk.0.ffn_down.weight").shape == (576, 1536)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a GGUF file"),
        (b"GG", "not a GGUF file"),
        (b"PK\x03\x04" + bytes(100), "not a GGUF file"),
        (b"GGUF\x03", "ends inside its header"),
        (header(version=1), "version 1"),
        (header(version=0x03000000), "version 50331648"),
        (header(num_pairs=HUGE), "metadata entries"),
        (header(num_tensors=HUGE), "tensors"),
        (header(pair(STRING, struct.pack("<Q", HUGE)), 1), "bytes of text"),
        (header(struct.pack("<Q", HUGE) + bytes(50), 1), "bytes of text"),
        (header(pair(STRING, text(b"\xff\xfe")), 1), "not UTF-8"),
        (header(pair(ARRAY, struct.pack("<IQ", U8, HUGE)), 1), "array elements"),
        (header(pair(ARRAY, struct.pack("<IQ", U8, 9)), 1), "array elements"),
        (header(pair(ARRAY, struct.pack("<IQ", STRING, HUGE)), 1), "texts"),
        (header(pair(ARRAY, struct.pack("<IQ", ARRAY, 1)), 1), "array of the unsupported type 9"),
        (header(pair(99, bytes(20)), 1), "unknown type 99"),
        (header(pair(U32, bytes(4)) * 2, 2), "twice"),
        (header(pair(U32, struct.pack("<I", 3), b"general.alignment"), 1), "alignment 3"),
        (header(pair(U32, struct.pack("<I", 0), b"general.alignment"), 1), "alignment 0"),
        (header(pair(U32, struct.pack("<I", 2**31), b"general.alignment"), 1), "alignment 2147483648"),
        (header(pair(STRING, text(b"32"), b"general.alignment"), 1), "alignment '32'"),
        (one_tensor([2**63, 2**63]), "before the tensor 't' does"),
        (one_tensor([8, 64]), "before the tensor 't' does"),
        (one_tensor([8], offset=HUGE), "before the tensor 't' does"),
        (one_tensor([8, 0]), "impossible shape"),
        (one_tensor([33], kind=3), "impossible shape"),
        (one_tensor([8], kind=77), "unknown type 77"),
        (header(tensors=text(b"t") + struct.pack("<I", 2**31) + bytes(40), num_tensors=1), "2147483648 dimensions"),
        (header(tensors=text(b"t") + struct.pack("<I", 0) + bytes(40), num_tensors=1), "0 dimensions"),
        (header(tensors=tensor([1]) * 2, num_tensors=2) + bytes(256), "twice"),
    ],
)
def test_hostile_header_is_refused_with_file_and_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(ModelFileError) as raised:
        open_bytes(tmp_path, content)
    message = str(raised.value)
    assert message.startswith(f"{tmp_path / 'model.gguf'}: ")
    assert reason in message
    assert "\n" not in message


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 394_000))
def test_truncated_file_is_refused(tiny_path: Path, tmp_path: Path, cut: int) -> None:
    with pytest.raises(ModelFileError):
        open_bytes(tmp_path, tiny_path.read_bytes()[:cut])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(4, 9_000), value=st.integers(0, 255))
def test_changed_byte_gives_a_file_or_a_clear_refusal(
    tiny_path: Path, tmp_path: Path, position: int, value: int
) -> None:
    content = bytearray(tiny_path.read_bytes())
    content[position] = value
    refusal = _refusal(tmp_path, bytes(content))
    assert refusal is None or refusal.startswith(str(tmp_path))


def _refusal(folder: Path, content: bytes) -> str | None:
    try:
        file = open_bytes(folder, content)
        for name in file.tensor_names:
            file.tensor(name)
    except ModelFileError as error:
        return str(error)
    return None


def test_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        GgufFile.open(tmp_path)


def test_tensor_type_that_is_not_dequantised_is_refused(tmp_path: Path) -> None:
    file = open_bytes(tmp_path, one_tensor([8], kind=int(gguf.GGMLQuantizationType.I8)))
    with pytest.raises(ModelFileError, match="stored as I8, which is not supported"):
        file.tensor("t")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_tensor_with_values_that_are_not_numbers_is_refused(tmp_path: Path, value: float) -> None:
    values = np.array([1, 2, value, 4, np.inf if value > 0 else 5, -value, 7, 8], np.float32)
    file = open_bytes(tmp_path, header(tensors=tensor([8]), num_tensors=1) + bytes(7) + values.tobytes())
    with pytest.raises(ModelFileError, match="not numbers"):
        file.tensor("t")


def test_file_that_shrinks_after_opening_is_refused(tmp_path: Path) -> None:
    file = open_bytes(tmp_path, one_tensor([8]))
    file.path.write_bytes(b"GGUF")
    with pytest.raises(ModelFileError, match="tensor t cannot be read"):
        file.tensor("t")
    file.path.unlink()
    with pytest.raises(ModelFileError, match="tensor t cannot be read"):
        file.tensor("t")
