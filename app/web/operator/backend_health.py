"""Each backend as it stands now: its health, its pool, and what SQL knows of it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio

from app.house import House
from app.reports.backends import BackendFigures
from app.settings import Backend
from app.turns.prefill_speed import prefill_speed
from inference_client import CacheState, InferenceClient, InferenceError, RetryPolicy, Timeouts

PATIENCE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class BackendState:
    """`cache` is None for a backend without inspection, and for one that does not answer in time.

    `prefill_speed` is in tokens per second, None where nothing was measured.
    """

    settings: Backend
    away: bool
    figures: BackendFigures
    cache: CacheState | None
    prefill_speed: float | None


async def backend_states(house: House) -> Sequence[BackendState]:
    """In the order of the settings. All are asked at once, so that those that are away cost their time only once."""
    states: dict[str, BackendState] = {}

    async def look(backend: Backend) -> None:
        states[backend.name] = await _state(house, backend)

    backends = house.settings.resolved_backends()
    async with anyio.create_task_group() as group:
        for backend in backends:
            group.start_soon(look, backend)
    return [states[backend.name] for backend in backends]


async def _state(house: House, backend: Backend) -> BackendState:
    now = house.clock()
    figures = await house.backend_reports.figures(backend.name, now)
    async with house.database.read() as session:
        speed = await prefill_speed(session, backend.name, now)
    away = house.backend_watch.away
    cache = await _cache(backend) if backend.inspection and not away else None
    return BackendState(backend, away, figures, cache, speed)


async def _cache(backend: Backend) -> CacheState | None:
    key = backend.api_key.get_secret_value() if backend.api_key else None
    timeouts = Timeouts(connect=PATIENCE_S)
    with suppress(InferenceError), anyio.move_on_after(PATIENCE_S):
        async with InferenceClient(
            backend.base_url, api_key=key, timeouts=timeouts, retry=RetryPolicy(attempts=1)
        ) as client:
            return await client.cache()
    return None
