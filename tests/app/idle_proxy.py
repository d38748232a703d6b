"""A proxy with little patience: it cuts a connection whose server has said nothing for a while."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


@asynccontextmanager
async def idle_proxy(server_url: str, patience: float) -> AsyncIterator[str]:
    """The URL to reach the server by; `patience` in seconds. Bytes go through as they come."""
    port = urlsplit(server_url).port
    open_pairs: set[asyncio.Task[None]] = set()

    async def serve(from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_pairs.add(task)
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        upload = asyncio.create_task(_pass_on(from_client, to_server, None))
        try:
            await _pass_on(from_server, to_client, patience)
        finally:
            upload.cancel()
            to_server.close()
            to_client.close()
            open_pairs.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    for task in open_pairs:
        task.cancel()
    await asyncio.gather(*open_pairs, return_exceptions=True)


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter, patience: float | None) -> None:
    """Until the source ends, breaks, or is silent for too long."""
    with suppress(TimeoutError, ConnectionError):
        while piece := await asyncio.wait_for(source.read(65536), patience):
            target.write(piece)
            await target.drain()
