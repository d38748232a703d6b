"""A child process that keeps one core busy, as a neighbour of the server would."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SPIN = "print(flush=True)\nwhile True: pass"


@contextmanager
def busy_core() -> Iterator[None]:
    """Busy from the first moment to the last of the context."""
    with subprocess.Popen([sys.executable, "-c", _SPIN], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            yield
        finally:
            child.kill()
