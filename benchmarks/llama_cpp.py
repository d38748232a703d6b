"""The server of llama.cpp: from a prebuilt wheel, and built from source for this processor."""

import tarfile
from pathlib import Path
from types import MappingProxyType

from benchmarks.peer import CONTEXT, SLOTS, Candidate, environment_python, run

WHEEL = "xllamacpp==2026.10.11549"
SOURCE_PACKAGE, SOURCE_VERSION = "llama-cpp-python", "0.3.36"
"""It brings the source of llama.cpp along."""
READY_S = 120.0
LAYOUTS = MappingProxyType({"unified": "--kv-unified", "separate": "--no-kv-unified"})
"""One KV cache for all chats, or one for each; the server's flags."""
_BUILD_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DGGML_NATIVE=ON",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
)


def prebuilt(cache: Path, model: Path, threads: int) -> list[Candidate]:
    """With both layouts of the KV cache. Raises PeerUnavailable."""
    python = environment_python(cache / "xllamacpp", WHEEL)
    script = Path(__file__).with_name("xllamacpp_server.py")
    command = (str(python), str(script), str(model), "{port}", str(SLOTS), str(SLOTS * CONTEXT), str(threads))
    return [
        Candidate(f"llama.cpp, wheel {WHEEL}, {layout} KV cache", (*command, layout), READY_S) for layout in LAYOUTS
    ]


def native(cache: Path, model: Path, threads: int) -> list[Candidate]:
    """With both layouts of the KV cache. Needs cmake and a C++ compiler. Raises PeerUnavailable."""
    folder = cache / "llama-native"
    binary = folder / "build" / "bin" / "llama-server"
    if not binary.exists():
        _build(folder, threads)
    options = {
        "--model": str(model),
        "--host": "127.0.0.1",
        "--port": "{port}",
        "--parallel": str(SLOTS),
        "--ctx-size": str(SLOTS * CONTEXT),
        "--threads": str(threads),
        "--threads-batch": str(threads),
    }
    command = (str(binary), *(part for option in options.items() for part in option), "--jinja")
    how = f"llama.cpp, built for this processor from {SOURCE_PACKAGE} {SOURCE_VERSION}"
    return [Candidate(f"{how}, {layout} KV cache", (*command, flag), READY_S) for layout, flag in LAYOUTS.items()]


def _build(folder: Path, threads: int) -> None:
    python = environment_python(folder / "tools", "pip")
    wanted = f"{SOURCE_PACKAGE}=={SOURCE_VERSION}"
    run(folder, str(python), "-m", "pip", "download", "--no-deps", "--no-binary", SOURCE_PACKAGE, wanted)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    source = folder / archive.name.removesuffix(".tar.gz") / "vendor" / "llama.cpp"
    run(folder, "cmake", "-S", str(source), "-B", "build", *_BUILD_OPTIONS)
    run(folder, "cmake", "--build", "build", "--target", "llama-server", f"-j{threads}")
