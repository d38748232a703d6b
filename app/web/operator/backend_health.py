"""Each backend as it stands now: its health, its pool, and what SQL knows of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.house import House
from app.reports.backends import BackendFigures
from app.settings import Backend
from app.web.operator.backend_states import cache_states, speeds_of
from inference_client import CacheState


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
    """In the order of the settings."""
    backends, now = house.backends.all, house.clock()
    caches = await cache_states(house.backends)
    speeds = await speeds_of(house, [backend.name for backend in backends])
    return [
        BackendState(
            settings=backend.settings,
            away=backend.away,
            figures=await house.backend_reports.figures(backend.name, now),
            cache=caches.get(backend.name),
            prefill_speed=speeds.get(backend.name),
        )
        for backend in backends
    ]
