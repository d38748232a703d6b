"""Which models people may choose: those that the backend lists, asked now and then; a page never waits long for it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from app.turns.backends import Backends
from inference_client import InferenceError

FRESH_S = 60.0
PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class OfferedModel:
    id: str
    name: str


class OfferedModels:
    def __init__(self, backends: Backends, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._backends = backends
        self._monotonic = monotonic
        self._found: Sequence[OfferedModel] = ()
        self._fresh_until = 0.0

    def known(self) -> Sequence[OfferedModel]:
        """Without asking anybody: the one that the settings fix, else those of the last list."""
        fixed = self._backends.choose().settings.model
        return self._found if fixed is None else (OfferedModel(fixed, fixed),)

    async def list(self) -> Sequence[OfferedModel]:
        """The one that the settings fix, else what the backend lists; the last list while it cannot be asked."""
        backend = self._backends.choose()
        if backend.settings.model is None and self._monotonic() >= self._fresh_until:
            try:
                with anyio.fail_after(PATIENCE_S):
                    models = await backend.client.models()
            except (InferenceError, TimeoutError):
                return self.known()
            self._found = [OfferedModel(model.id, model.display_name or model.id) for model in models]
            self._fresh_until = self._monotonic() + FRESH_S
        return self.known()
