"""Runs an ASGI app in a real uvicorn on a free port, in a thread of the test process, and stops it cleanly.

with LiveServer(app) as server:         # or: async with LiveServer(app) as server
    httpx.get(server.url + "/health")
"""

import asyncio
import socket
import ssl
import threading
import time
from concurrent.futures import Future
from types import TracebackType
from typing import Self

import anyio.to_thread
import uvicorn
from starlette.types import ASGIApp

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients (`verify`): each would read the list of authorities, which takes longer than most tests ask for."""


class _AnnouncingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()  # Started, or given up.

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets=sockets)
        self.settled.set()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets=sockets)
        except SystemExit:
            self.started = False  # uvicorn's way to say that the lifespan did not start.
        finally:
            self.settled.set()


class LiveServer:
    """`port` 0 takes a free port; a given port can be taken again after a stop, as a restarted server would.

    Streams still open at the end get `graceful_seconds` to finish and are then cancelled. A small `send_buffer`, in
    bytes, lets the app notice a client that does not read.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int = 0,
        lifespan: bool = True,
        graceful_seconds: int = 1,
        send_buffer: int | None = None,
    ) -> None:
        self._wanted_port = port
        self._send_buffer = send_buffer
        self._config = uvicorn.Config(
            app,
            lifespan="on" if lifespan else "off",
            log_config=None,
            timeout_keep_alive=75,  # As in production: no connection is closed just as a client uses it again.
            log_level="critical",
            ws="none",
            timeout_graceful_shutdown=graceful_seconds,
        )
        self._server = _AnnouncingServer(self._config)
        self._thread: threading.Thread | None = None
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """TCP connections that clients hold open now, idle ones included."""
        return len(self._server.server_state.connections)

    @property
    def tasks(self) -> int:
        """What runs in the server's event loop now: requests, and what the app does beside them."""
        count: Future[int] = Future()
        self._server.loop.call_soon_threadsafe(lambda: count.set_result(len(asyncio.all_tasks())))
        return count.result(10)

    def wait_for_connections(self, count: int, timeout: float = 10.0) -> None:
        """Blocks until clients hold so many; the server notices a closed one a moment later than the client."""
        deadline = time.monotonic() + timeout
        while self.connections != count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.connections} connections are open, not {count}")
            time.sleep(0.005)

    def start(self) -> None:
        """Returns when the server answers; raises RuntimeError when the app's lifespan did not start."""
        listener = socket.create_server(("127.0.0.1", self._wanted_port))
        if self._send_buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer)
        self.port = listener.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name=f"live-server-{self.port}"
        )
        self._thread.start()
        self._server.settled.wait()
        if not self._server.started:
            self._thread.join()
            listener.close()
            raise RuntimeError("the app did not start")

    def stop(self) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await anyio.to_thread.run_sync(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.stop)
