"""Servers as processes of this machine: started, waited for, measured, ended. Knows nothing of what they say."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import psutil


class ServerDied(Exception):
    """The process ended, or did not answer in time; the message has the end of its output."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def leave_on_sigterm() -> None:
    """Let SIGTERM unwind this process, so that it ends the servers that it has started."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))


class ServerProcess:
    """Runs while the context is open. Its output goes to a file; its children end with it.

    The command's environment is ours with `environment` on top.
    """

    def __init__(self, command: Sequence[str], port: int, log: Path, environment: Mapping[str, str]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._log = log
        self.started = time.perf_counter()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_ready(self, seconds: float) -> None:
        """Until it says that it is healthy, as all of them do at /health. Raises ServerDied."""
        deadline = time.perf_counter() + seconds
        while not self._answers():
            if (code := self._process.poll()) is not None:
                raise ServerDied(f"{_ending(code)}: {self._last_lines()}")
            if time.perf_counter() > deadline:
                raise ServerDied(f"no answer within {seconds:g} s: {self._last_lines()}")
            time.sleep(0.02)

    @property
    def resident_bytes(self) -> int:
        """Of the process and its children."""
        process = psutil.Process(self._process.pid)
        return sum(member.memory_info().rss for member in (process, *process.children(recursive=True)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._signal_group(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._signal_group(signal.SIGKILL)
            self._process.wait(20)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", trust_env=False, timeout=5).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def _signal_group(self, kind: signal.Signals) -> None:
        """The process leads a group of its own, in which its children are."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, kind)

    def _last_lines(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return " | ".join(lines[-3:])


def _ending(code: int) -> str:
    return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
