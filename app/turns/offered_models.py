"""Which models people may choose: those that the backends list, asked now and then; a page never waits long for it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from app.turns.backends import Backends, ServingBackend
from app.turns.rhythm import Rhythm
from inference_client import InferenceError

FRESH_S = 60.0


@dataclass(frozen=True, slots=True)
class OfferedModel:
    id: str
    name: str


@dataclass(slots=True)
class _List:
    """What one backend listed last. Who comes while it is asked waits for that answer."""

    models: Sequence[OfferedModel] = ()
    next_question: float = 0.0
    asking: anyio.Lock = field(default_factory=anyio.Lock)


class OfferedModels:
    def __init__(self, backends: Backends, rhythm: Rhythm, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._backends = backends
        self._rhythm = rhythm
        self._monotonic = monotonic
        self._lists = {backend.name: _List() for backend in backends.all}

    def known(self) -> Sequence[OfferedModel]:
        """Without asking anybody: those that the settings fix and those of the last lists, each once."""
        found: dict[str, OfferedModel] = {}
        for backend in self._backends.all:
            fixed = backend.settings.model
            models = self._lists[backend.name].models if fixed is None else (OfferedModel(fixed, fixed),)
            found.update({model.id: model for model in models if model.id not in found})
        return tuple(found.values())

    async def list(self) -> Sequence[OfferedModel]:
        """As `known`, but asks first who was not asked lately; the last list stays while one cannot be asked.

        A backend that gave no list is left alone for a while.
        """
        async with anyio.create_task_group() as group:
            for backend in self._backends.all:
                if backend.settings.model is None and self._due(backend):
                    group.start_soon(self._refresh, backend)
        return self.known()

    def _due(self, backend: ServingBackend) -> bool:
        return self._monotonic() >= self._lists[backend.name].next_question

    async def _refresh(self, backend: ServingBackend) -> None:
        listed = self._lists[backend.name]
        async with listed.asking:
            if self._due(backend):
                listed.next_question = self._monotonic() + await self._ask(backend)

    async def _ask(self, backend: ServingBackend) -> float:
        """For how many seconds nobody need ask again."""
        try:
            with anyio.fail_after(self._rhythm.list_patience):
                models = await backend.client.models()
        except (InferenceError, TimeoutError):
            return self._rhythm.list_pause
        self._lists[backend.name].models = [OfferedModel(model.id, model.display_name or model.id) for model in models]
        return FRESH_S
