"""Another server to compare with: how it was made and how it is started. Knows nothing of which ones there are."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.processes import ServerProcess, free_port

SLOTS = 16
"""Chats at once."""
CONTEXT = 8192
"""Tokens for each of them."""


class PeerUnavailable(Exception):
    """It could not be installed here; the message has the end of what was said."""


@dataclass(frozen=True)
class Candidate:
    """One way to have a peer. `{port}` in the command stands for the port; `how` is told beside the results."""

    how: str
    command: tuple[str, ...]
    ready_s: float
    environment: Mapping[str, str] = field(default_factory=dict)

    def start(self, log: Path) -> ServerProcess:
        port = free_port()
        command = [part.format(port=port) for part in self.command]
        return ServerProcess(command, port, log, self.environment)


def environment_python(folder: Path, *packages: str) -> Path:
    """The Python of a virtual environment that has these packages, made where it is missing.

    Raises PeerUnavailable.
    """
    python, stamp = folder / "bin" / "python", folder / "installed"
    if not stamp.exists() or stamp.read_text() != " ".join(packages):
        run(folder.parent, sys.executable, "-m", "venv", "--clear", str(folder))
        run(folder.parent, str(python), "-m", "pip", "install", *packages)
        stamp.write_text(" ".join(packages))
    return python


def run(folder: Path, *command: str) -> None:
    """Run a command there, politely: builds take all cores for minutes. Raises PeerUnavailable."""
    folder.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(["nice", "-n", "19", *command], cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise PeerUnavailable(f"{_short(command)} failed: {_last_lines(ended.stderr or ended.stdout)}")


def _short(command: Sequence[str]) -> str:
    return " ".join([Path(command[0]).name, *command[1:4]])


def _last_lines(output: str) -> str:
    return " | ".join([line.strip() for line in output.splitlines() if line.strip()][-3:])
