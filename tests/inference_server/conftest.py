from collections.abc import Iterator
from pathlib import Path

import pytest

from inference_server.bundled_model import bundled_model
from inference_server.gguf_file import GgufFile
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.scripted_server import Script, serve_scripted
from tests.inference_server.serving import Served, serve_model
from tests.tiny_model import write_tiny_model


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny(tiny_model: Path) -> Iterator[Served]:
    """One server on the tiny model for all tests."""
    with serve_model(tiny_model) as served:
        yield served


@pytest.fixture
def fresh_tiny(tiny_model: Path) -> Iterator[Served]:
    """A server on the tiny model that has done nothing yet."""
    with serve_model(tiny_model) as served:
        yield served


@pytest.fixture(scope="session")
def bundled() -> Iterator[Served]:
    """One server on the bundled model for all tests; each uses a conversation of its own."""
    with serve_model(bundled_model(), compute="auto") as served:
        yield served


@pytest.fixture(scope="session")
def tokenizer() -> TextTokenizer:
    """The bundled model's tokenizer."""
    return TextTokenizer(GgufFile.open(bundled_model()).metadata)


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_model: Path) -> TextTokenizer:
    """The tiny model's tokenizer, which has a token for every byte and few for more."""
    return TextTokenizer(GgufFile.open(tiny_model).metadata)


@pytest.fixture
def script() -> Script:
    """What the model of `server` says."""
    return Script()


@pytest.fixture
def server(tokenizer: TextTokenizer, script: Script) -> Iterator[Served]:
    """A server with the bundled model's tokenizer, whose model says what the script wants."""
    with serve_scripted(tokenizer, OracleRunner(4096, script)) as served:
        yield served
