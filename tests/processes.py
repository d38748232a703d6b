"""Runs the product's own commands as processes, with an environment that has none of the machine's settings."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from tests.live_server import NO_TLS

RECOUNT = (sys.executable, "-m", "app")


def clean_environment(**settings: str) -> dict[str, str]:
    """The environment without any ``RECOUNT_`` setting but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECOUNT_")}
    return {**kept, **settings}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Process:
    """A command whose output is collected while it runs. Leaving the context ends it with SIGTERM."""

    def __init__(
        self, *command: str, environment: Mapping[str, str], folder: Path | None = None, session: bool = False
    ) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=session,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def wait(self, timeout: float = 60) -> int:
        """The exit code, once all output is read."""
        code = self._process.wait(timeout)
        self._reader.join(timeout)
        return code

    def signal(self, kind: signal.Signals) -> None:
        self._process.send_signal(kind)

    def until(self, condition: Callable[[], object], seconds: float = 90) -> None:
        """Wait until the condition holds while the process lives."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert self._process.poll() is None, f"it ended:\n{self.output}"
            assert time.monotonic() < deadline, f"it never happened:\n{self.output}"
            time.sleep(0.05)

    def until_answers(self, url: str) -> None:
        self.until(lambda: answers(url))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(30)
        self._reader.join(30)
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line)


def answers(url: str) -> bool:
    """Whether a GET is answered with 200."""
    try:
        return httpx.get(url, trust_env=False, timeout=5, verify=NO_TLS).status_code == 200
    except httpx.TransportError:
        return False
