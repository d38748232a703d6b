"""Writes model files whose tensors are stored in given types."""

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np

from inference_server.gguf_file import GgufFile


def write_tensors(
    folder: Path, tensors: Mapping[str, np.ndarray], kind: str, others: Mapping[str, str] | None = None
) -> GgufFile:
    """A file of float32 tensors, quantised to one type or, where `others` names them, to other ones."""
    writer = gguf.GGUFWriter(folder / "stored.gguf", "llama")
    for name, values in tensors.items():
        quantization = gguf.GGMLQuantizationType[(others or {}).get(name, kind)]
        writer.add_tensor(name, gguf.quants.quantize(values, quantization), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return GgufFile.open(folder / "stored.gguf")
