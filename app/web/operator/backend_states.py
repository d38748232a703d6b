"""What the backends say of themselves at this moment. A silent one costs a page a second, and no more."""

from collections.abc import Iterable

import anyio

from app.house import House
from app.turns.backends import Backends, ServingBackend
from app.turns.prefill_speed import prefill_speeds
from app.web.operator.costs import Speeds
from inference_client import InferenceError
from inference_client.inspection import CacheState

PATIENCE_S = 1.0


async def cache_states(backends: Backends, patience: float = PATIENCE_S) -> dict[str, CacheState]:
    """By name; without those that cannot be inspected, or do not answer in time."""
    found: dict[str, CacheState] = {}

    async def ask(backend: ServingBackend) -> None:
        try:
            with anyio.fail_after(patience):
                found[backend.name] = await backend.client.cache()
        except (InferenceError, TimeoutError):
            return

    async with anyio.create_task_group() as group:
        for backend in backends.all:
            if backend.settings.inspection and not backend.away:
                group.start_soon(ask, backend)
    return found


async def speeds_of(house: House, names: Iterable[str | None]) -> Speeds:
    """Of these backends, as measured lately."""
    async with house.database.read() as session:
        return await prefill_speeds(session, {name for name in names if name is not None}, house.clock())
