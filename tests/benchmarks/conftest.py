"""Scripted servers for the driver, each with a name and a client as a run has them."""

from collections.abc import Iterator

import pytest

from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def url(backend: ScriptedBackend) -> Iterator[str]:
    with LiveServer(backend, lifespan=False) as server:
        yield server.url


@pytest.fixture
def other_backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def other_url(other_backend: ScriptedBackend) -> Iterator[str]:
    with LiveServer(other_backend, lifespan=False) as server:
        yield server.url
