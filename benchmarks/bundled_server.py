"""The bundled inference server as a process, with the settings that it has by itself."""

import sys
from pathlib import Path

from benchmarks.processes import ServerProcess, free_port

READY_S = 120.0


def start_bundled_server(log: Path, *, key: str = "") -> ServerProcess:
    """On the bundled model and a free port. Inspection needs a key."""
    port = free_port()
    command = [sys.executable, "-m", "inference_server", "--port", str(port)]
    return ServerProcess(command, port, log, {"RECOUNT_MODEL": "", "RECOUNT_INFERENCE_KEY": key})
