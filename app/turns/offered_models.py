"""Which models people may choose: those that the backend lists, asked now and then; a page never waits long for it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from app.turns.backends import Backends, ServingBackend
from app.turns.rhythm import Rhythm
from inference_client import InferenceError

FRESH_S = 60.0


@dataclass(frozen=True, slots=True)
class OfferedModel:
    id: str
    name: str


class OfferedModels:
    def __init__(self, backends: Backends, rhythm: Rhythm, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._backends = backends
        self._rhythm = rhythm
        self._monotonic = monotonic
        self._found: Sequence[OfferedModel] = ()
        self._next_question = 0.0
        self._asking = anyio.Lock()

    def known(self) -> Sequence[OfferedModel]:
        """Without asking anybody: the one that the settings fix, else those of the last list."""
        fixed = self._backends.choose().settings.model
        return self._found if fixed is None else (OfferedModel(fixed, fixed),)

    async def list(self) -> Sequence[OfferedModel]:
        """The one that the settings fix, else what the backend lists; the last list while it cannot be asked.

        A backend that gave no list is left alone for a while. Who comes while it is asked waits for that answer.
        """
        backend = self._backends.choose()
        if backend.settings.model is None and self._due():
            async with self._asking:
                if self._due():
                    self._next_question = self._monotonic() + await self._ask(backend)
        return self.known()

    def _due(self) -> bool:
        return self._monotonic() >= self._next_question

    async def _ask(self, backend: ServingBackend) -> float:
        """For how many seconds nobody need ask again."""
        try:
            with anyio.fail_after(self._rhythm.list_patience):
                models = await backend.client.models()
        except (InferenceError, TimeoutError):
            return self._rhythm.list_pause
        self._found = [OfferedModel(model.id, model.display_name or model.id) for model in models]
        return FRESH_S
