"""Reads a GGUF model file: metadata as Python values, tensors as float32 arrays.

Model files are untrusted. Every length in the header is compared with the bytes that are left before anything
is allocated or looped over, which gguf.GGUFReader does not do: so only the dequantising is left to that library.
Knows nothing of models or tokenizers.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import gguf
import numpy as np

from inference_server.errors import ModelFileError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_ALIGNMENT = 65_536
MAX_DIMENSIONS = 4
MAX_ARRAY_LENGTH = 4_194_304  # The largest vocabularies have about 300,000 tokens.
MAX_STRING_BYTES = 16_777_216
LOWEST_PAIR_BYTES = 8 + 4 + 1  # A key's length, the type and the smallest value.
LOWEST_TENSOR_BYTES = 8 + 4 + 8 + 4 + 8  # A name's length, one dimension, type and offset.

BLOCK_FORMATS: Mapping[int, tuple[int, bool]] = MappingProxyType(
    {
        gguf.GGMLQuantizationType.Q4_0: (4, False),
        gguf.GGMLQuantizationType.Q4_1: (4, True),
        gguf.GGMLQuantizationType.Q8_0: (8, False),
    }
)
"""The bits of a code, and whether a block stores its offset."""
STRING, ARRAY = gguf.GGUFValueType.STRING, gguf.GGUFValueType.ARRAY
SCALAR_FORMATS: Mapping[int, str] = MappingProxyType(
    {
        gguf.GGUFValueType.UINT8: "B",
        gguf.GGUFValueType.INT8: "b",
        gguf.GGUFValueType.UINT16: "H",
        gguf.GGUFValueType.INT16: "h",
        gguf.GGUFValueType.UINT32: "I",
        gguf.GGUFValueType.INT32: "i",
        gguf.GGUFValueType.UINT64: "Q",
        gguf.GGUFValueType.INT64: "q",
        gguf.GGUFValueType.FLOAT32: "f",
        gguf.GGUFValueType.FLOAT64: "d",
        gguf.GGUFValueType.BOOL: "?",
    }
)


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where one tensor lies. `shape` is [out, in] order, the reverse of the file's."""

    shape: tuple[int, ...]
    quantization: gguf.GGMLQuantizationType
    offset: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Blocks:
    """A matrix [out, in] in blocks of 32 along `in`: value = scale * code + offset.

    `codes` uint8 below 2 ** bits [out, in / 32, 32], `scales` and `offsets` float32 [out, in / 32].
    """

    bits: int
    codes: np.ndarray
    scales: np.ndarray
    offsets: np.ndarray


class GgufFile:
    """One opened model file. The tensors are read from the disk when they are asked for."""

    def __init__(self, path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, StoredTensor]) -> None:
        self.path = path
        self.metadata = metadata
        self._tensors = tensors

    @classmethod
    def open(cls, path: Path) -> "GgufFile":
        """Reads and checks the whole header. Raises ModelFileError, one line with the file and the reason."""
        try:
            size = path.stat().st_size
            with path.open("rb") as stream:
                metadata, tensors = _read_header(_Header(stream, size))
        except OSError as error:
            raise ModelFileError(f"{path}: cannot be read ({error.strerror})") from error
        except _HeaderError as error:
            raise ModelFileError(f"{path}: {error}") from error
        return cls(path, MappingProxyType(metadata), MappingProxyType(tensors))

    @property
    def tensor_names(self) -> frozenset[str]:
        return frozenset(self._tensors)

    def tensor(self, name: str) -> np.ndarray:
        """The dequantised float32 values, [out, in], or [n] for norms. Raises ModelFileError."""
        stored = self._stored(name)
        try:
            values = self._read(stored)
        except NotImplementedError as error:
            kind = stored.quantization.name
            raise ModelFileError(f"{self.path}: tensor {name} is stored as {kind}, which is not supported") from error
        except (OSError, ValueError) as error:
            raise ModelFileError(f"{self.path}: tensor {name} cannot be read") from error
        # One NaN or infinity makes the sum one too, and a sum is cheap.
        with np.errstate(all="ignore"):
            total = values.sum()
        if not np.isfinite(total):
            raise ModelFileError(f"{self.path}: tensor {name} holds values that are not numbers")
        return values

    def shape(self, name: str) -> tuple[int, ...]:
        """[out, in] or [n]. Raises ModelFileError if there is no such tensor."""
        return self._stored(name).shape

    def blocks(self, name: str) -> Blocks | None:
        """A matrix as it is stored, if that is in one of BLOCK_FORMATS. Raises ModelFileError."""
        stored = self._stored(name)
        block_format = BLOCK_FORMATS.get(stored.quantization)
        if block_format is None or len(stored.shape) != 2:
            return None
        try:
            raw = self._raw(stored)
        except (OSError, ValueError) as error:
            raise ModelFileError(f"{self.path}: tensor {name} cannot be read") from error
        blocks = _blocks(raw.reshape(stored.shape[0], stored.shape[1] // 32, -1), *block_format)
        if not (np.isfinite(blocks.scales).all() and np.isfinite(blocks.offsets).all()):
            raise ModelFileError(f"{self.path}: tensor {name} holds values that are not numbers")
        return blocks

    def _stored(self, name: str) -> StoredTensor:
        stored = self._tensors.get(name)
        if stored is None:
            raise ModelFileError(f"{self.path}: has no tensor {name}")
        return stored

    def _read(self, stored: StoredTensor) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(gguf.quants.dequantize(self._raw(stored), stored.quantization), dtype=np.float32)

    def _raw(self, stored: StoredTensor) -> np.ndarray:
        raw = np.fromfile(self.path, dtype=np.uint8, count=stored.num_bytes, offset=stored.offset)
        return raw.reshape(*stored.shape[:-1], stored.num_bytes // math.prod(stored.shape[:-1]))


def _blocks(raw: np.ndarray, bits: int, has_offsets: bool) -> Blocks:
    """A block is its scale, its offset (or else the middle code stands for zero), and its codes.

    Bytes are signed; four-bit codes are not, and the first halves of 16 bytes come before the second ones.
    """
    halves, stored = np.split(raw, [4 if has_offsets else 2], axis=-1)
    factors = halves.copy().view(np.float16).astype(np.float32)
    scales = factors[..., 0]
    codes = stored ^ 0x80 if bits == 8 else np.concatenate((stored & 15, stored >> 4), axis=-1)
    return Blocks(bits, codes, scales, factors[..., 1] if has_offsets else -(2 ** (bits - 1)) * scales)


class _HeaderError(Exception):
    """The header breaks a rule of the format; the message is the reason."""


class _Header:
    """A cursor over the header that never reads more than the file still has."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self.size = size
        self.position = 0

    def take(self, count: int) -> bytes:
        if count > self.size - self.position:
            raise _HeaderError("the file ends inside its header")
        data = self._stream.read(count)
        if len(data) != count:
            raise _HeaderError("the file shrank while it was read")
        self.position += count
        return data

    def number(self, format_character: str) -> Any:
        return struct.unpack("<" + format_character, self.take(struct.calcsize("<" + format_character)))[0]

    def count(self, what: str, lowest_bytes: int, highest: int = MAX_ARRAY_LENGTH) -> int:
        """A 64-bit count of things of which each takes at least so many bytes."""
        count: int = self.number("Q")
        if count > highest or count * lowest_bytes > self.size - self.position:
            raise _HeaderError(f"the header claims {count} {what}, more than the file can hold")
        return count

    def text(self) -> str:
        data = self.take(self.count("bytes of text", 1, MAX_STRING_BYTES))
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _HeaderError("a text in the header is not UTF-8") from error


def _read_header(header: _Header) -> tuple[dict[str, Any], dict[str, StoredTensor]]:
    if header.size < len(MAGIC) or header.take(len(MAGIC)) != MAGIC:
        raise _HeaderError("is not a GGUF file")
    version = header.number("I")
    if version not in VERSIONS:
        raise _HeaderError(f"has GGUF version {version}; versions 2 and 3 (little endian) are supported")
    num_tensors = header.count("tensors", LOWEST_TENSOR_BYTES)
    num_pairs = header.count("metadata entries", LOWEST_PAIR_BYTES)
    metadata: dict[str, Any] = {}
    for _ in range(num_pairs):
        key = header.text()
        if key in metadata:
            raise _HeaderError(f"has the metadata key {key!r} twice")
        metadata[key] = _read_value(header, header.number("I"))
    return metadata, _read_tensors(header, num_tensors, _alignment(metadata))


def _read_value(header: _Header, value_type: int) -> Any:
    if value_type == STRING:
        return header.text()
    if value_type == ARRAY:
        return _read_array(header, header.number("I"))
    if value_type not in SCALAR_FORMATS:
        raise _HeaderError(f"has a metadata value of the unknown type {value_type}")
    return header.number(SCALAR_FORMATS[value_type])


def _read_array(header: _Header, value_type: int) -> list[Any]:
    if value_type == STRING:
        return [header.text() for _ in range(header.count("texts", 8))]
    if value_type not in SCALAR_FORMATS:
        raise _HeaderError(f"has an array of the unsupported type {value_type}")
    layout = SCALAR_FORMATS[value_type]
    size = struct.calcsize("<" + layout)
    count = header.count("array elements", size)
    return list(struct.unpack(f"<{count}{layout}", header.take(count * size)))


def _alignment(metadata: Mapping[str, Any]) -> int:
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
        raise _HeaderError(f"has the alignment {alignment!r}, which is not a power of two")
    return alignment


def _read_tensors(header: _Header, count: int, alignment: int) -> dict[str, StoredTensor]:
    tensors: dict[str, StoredTensor] = {}
    for _ in range(count):
        name = header.text()
        if name in tensors:
            raise _HeaderError(f"has the tensor {name!r} twice")
        tensors[name] = _read_tensor(header, name)
    data_start = math.ceil(header.position / alignment) * alignment
    for name, stored in tensors.items():
        if data_start + stored.offset + stored.num_bytes > header.size:
            raise _HeaderError(f"the file ends before the tensor {name!r} does")
    return {
        name: StoredTensor(stored.shape, stored.quantization, data_start + stored.offset, stored.num_bytes)
        for name, stored in tensors.items()
    }


def _read_tensor(header: _Header, name: str) -> StoredTensor:
    num_dimensions = header.number("I")
    if not 1 <= num_dimensions <= MAX_DIMENSIONS:
        raise _HeaderError(f"the tensor {name!r} claims {num_dimensions} dimensions")
    shape = tuple(header.number("Q") for _ in range(num_dimensions))[::-1]
    type_number, offset = header.number("I"), header.number("Q")
    try:
        quantization = gguf.GGMLQuantizationType(type_number)
    except ValueError as error:
        raise _HeaderError(f"the tensor {name!r} has the unknown type {type_number}") from error
    block, block_bytes = gguf.GGML_QUANT_SIZES[quantization]
    if 0 in shape or shape[-1] % block:
        raise _HeaderError(f"the tensor {name!r} has the impossible shape {list(shape)}")
    return StoredTensor(shape, quantization, offset, math.prod(shape) // block * block_bytes)
