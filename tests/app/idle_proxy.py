"""A proxy with little patience: it cuts a connection whose server has said nothing for a while, by the test's clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class IdleProxy:
    """Bytes go through as they come. Time passes when the test says so."""

    def __init__(self, url: str, patience: float) -> None:
        self.url = url
        self._patience = patience
        self._silent_for: dict[asyncio.Task[None], float] = {}

    def pass_time(self, seconds: float) -> None:
        for connection, silent_for in list(self._silent_for.items()):
            self._silent_for[connection] = silent_for + seconds
            if silent_for + seconds >= self._patience:
                connection.cancel()

    async def pass_on_answer(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """Until the server ends it, something breaks, or the server is silent for too long."""
        connection = asyncio.current_task()
        assert connection is not None
        self._silent_for[connection] = 0.0
        try:
            with suppress(ConnectionError):
                while piece := await source.read(65536):
                    self._silent_for[connection] = 0.0
                    target.write(piece)
                    await target.drain()
        finally:
            del self._silent_for[connection]

    async def close(self) -> None:
        connections = list(self._silent_for)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


@asynccontextmanager
async def idle_proxy(server_url: str, patience: float) -> AsyncIterator[IdleProxy]:
    """In front of that server; `patience` in seconds of the test's clock."""
    port = urlsplit(server_url).port

    async def serve(from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        upload = asyncio.create_task(_pass_on_request(from_client, to_server))
        try:
            await proxy.pass_on_answer(from_server, to_client)
        finally:
            upload.cancel()
            to_server.close()
            to_client.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy = IdleProxy(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", patience)
    yield proxy
    server.close()
    await proxy.close()


async def _pass_on_request(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await source.read(65536):
            target.write(piece)
            await target.drain()
