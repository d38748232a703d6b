"""``recount serve`` as a person starts it: the bundled server and the app, supervised, ended by one signal."""

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from tests.processes import RECOUNT, Process, answers, clean_environment, free_port
from tests.tiny_model import write_tiny_model


@contextmanager
def serving(folder: Path, **settings: str) -> "Iterator[tuple[Process, str, str]]":
    """(process, the app's address, the inference server's) once both answer."""
    port, inference_port = free_port(), free_port()
    environment = clean_environment(
        RECOUNT_PORT=str(port),
        RECOUNT_INFERENCE_PORT=str(inference_port),
        RECOUNT_MODEL=str(write_tiny_model(folder / "tiny.gguf")),
        **settings,
    )
    with Process(*RECOUNT, "serve", environment=environment, folder=folder, session=True) as process:
        process.until(lambda: "first account" in process.output)
        yield process, f"http://127.0.0.1:{port}", f"http://127.0.0.1:{inference_port}"


def inference_process(process: Process) -> psutil.Process:
    (child,) = psutil.Process(process.pid).children()
    return child


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_serve_starts_both_and_one_signal_ends_both(tmp_path: Path, kind: signal.Signals) -> None:
    with serving(tmp_path) as (process, app, inference):
        link = re.search(r"(\S+/setup\?code=\S+)", process.output)
        assert link is not None
        assert httpx.get(link[1], trust_env=False).status_code == 200
        assert answers(f"{app}/health")
        assert answers(f"{inference}/health")
        assert httpx.get(f"{inference}/v1/models", trust_env=False).status_code == 401
        child = inference_process(process)
        assert os.getpriority(os.PRIO_PROCESS, process.pid) > os.getpriority(os.PRIO_PROCESS, child.pid)
        process.signal(kind)
        assert process.wait() == 0, process.output
        assert not child.is_running()
    assert "Traceback" not in process.output


def test_a_dead_inference_server_is_started_again(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, app, inference):
        first = httpx.get(f"{inference}/health", trust_env=False).json()["serving_id"]
        inference_process(process).kill()
        assert answers(f"{app}/health")
        process.until(lambda: "inference_server_is_back" in process.output)
        assert httpx.get(f"{inference}/health", trust_env=False).json()["serving_id"] != first


def test_the_inference_address_is_never_somebody_else_s(tmp_path: Path) -> None:
    """Not even while the server is down: what is sent there has a key and people's words in it."""
    with serving(tmp_path) as (process, _app, inference):
        inference_process(process).kill()
        port = int(inference.rsplit(":", 1)[1])
        with pytest.raises(OSError, match="in use"):
            socket.create_server(("127.0.0.1", port)).close()
        process.until_answers(f"{inference}/health")


def test_the_inference_server_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, _app, _inference):
        child = inference_process(process)
        process.signal(signal.SIGKILL)
        process.wait()
        gone, alive = psutil.wait_procs([child], timeout=30)
        assert (len(gone), alive) == (1, [])


def test_other_backends_are_used_instead_of_the_bundled_server(tmp_path: Path) -> None:
    backends = json.dumps([{"name": "elsewhere", "base_url": "http://127.0.0.1:9"}])
    with serving(tmp_path, RECOUNT_BACKENDS=backends) as (process, app, inference):
        assert answers(f"{app}/health")
        assert not answers(f"{inference}/health")
        assert psutil.Process(process.pid).children() == []
