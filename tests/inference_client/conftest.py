"""A scripted backend behind a real socket: one server for all tests, one backend and one client for each."""

from collections.abc import AsyncIterator, Iterator

import pytest
from starlette.types import Receive, Scope, Send

from inference_client import InferenceClient, RetryPolicy
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend


class Stage:
    """An ASGI app that hands every request to the backend of the test that runs."""

    backend = ScriptedBackend()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.backend(scope, receive, send)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
def stage() -> Stage:
    return Stage()


@pytest.fixture(scope="package")
def server(stage: Stage) -> Iterator[LiveServer]:
    with LiveServer(stage, lifespan=False) as server:
        yield server


@pytest.fixture
def backend(stage: Stage) -> ScriptedBackend:
    stage.backend = ScriptedBackend()
    return stage.backend


@pytest.fixture
async def client(server: LiveServer) -> AsyncIterator[InferenceClient]:
    """A client that sends every request once."""
    async with InferenceClient(server.url, retry=RetryPolicy(attempts=1)) as client:
        yield client
