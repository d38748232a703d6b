"""The servers under test: a name, a client and the model that each of them serves."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx

from inference_client import InferenceClient, InferenceError, RetryPolicy, Timeouts

# A cold prompt of thousands of tokens takes a slow server minutes, and not every server sends pings meanwhile.
_PATIENCE = Timeouts(first_event=900, first_token=900, idle=900)
_ONE_ATTEMPT = RetryPolicy(attempts=1)


@dataclass(frozen=True)
class Server:
    """`model` is the first one that the server lists."""

    name: str
    client: InferenceClient
    model: str


@asynccontextmanager
async def opened(urls: Mapping[str, str]) -> AsyncIterator[list[Server]]:
    """The servers behind the URLs, by name, in their order. Raises InferenceError when one does not answer."""
    async with AsyncExitStack() as stack:
        servers = []
        for name, url in urls.items():
            client = InferenceClient(url, timeouts=_PATIENCE, retry=_ONE_ATTEMPT, transport=_transport())
            await stack.enter_async_context(client)
            servers.append(Server(name, client, await _first_model(name, client)))
        yield servers


def _transport() -> httpx.AsyncHTTPTransport:
    """A new connection for each request: a kept one may be closed by the server just when it is to be used again."""
    return httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None, max_keepalive_connections=0))


async def _first_model(name: str, client: InferenceClient) -> str:
    models = await client.models()
    if not models:
        raise InferenceError(f"{name} serves no model")
    return models[0].id
