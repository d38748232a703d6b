"""Whether the model servers that turns go to answer, asked now and then beside all requests. It knows no pages."""

import logging
from collections.abc import Awaitable, Callable

import anyio

from app.turns.backends import Backends, ServingBackend
from app.turns.rhythm import Rhythm
from inference_client import InferenceError, ServerFault, TransportError

logger = logging.getLogger(__name__)


class BackendWatch:
    """One look at a time at all of them; what it finds stands with each backend, and pages only read it."""

    def __init__(self, backends: Backends, rhythm: Rhythm, seen: Callable[[str, str], Awaitable[None]]) -> None:
        """`seen` is told the name of a backend and its serving id at every look."""
        self._backends = backends
        self._rhythm = rhythm
        self._seen = seen
        self._running = anyio.CancelScope()

    @property
    def away(self) -> bool:
        """Whether the last look found nobody at all, or only servers that fail. False before the first look."""
        return all(backend.away for backend in self._backends.all)

    async def run(self) -> None:
        """Looks at once and then in the rhythm, until stopped."""
        with self._running:
            while True:
                await self.look()
                await anyio.sleep(self._rhythm.watch)

    def stop(self) -> None:
        """A look on its way is given up."""
        self._running.cancel()

    async def look(self) -> None:
        async with anyio.create_task_group() as group:
            for backend in self._backends.all:
                group.start_soon(self._look_at, backend)

    async def _look_at(self, backend: ServingBackend) -> None:
        away, serving_id = await self._ask(backend)
        if away != backend.away:
            logger.warning("model server %s %s", backend.name, "does not answer" if away else "answers again")
        backend.away = away
        if serving_id is not None:
            await self._seen(backend.name, serving_id)

    async def _ask(self, backend: ServingBackend) -> tuple[bool, str | None]:
        """Whether it is away, and its serving id.

        A refusal is an answer: it says that somebody is there, and a turn tells what is wrong.
        """
        try:
            with anyio.fail_after(self._rhythm.watch_patience):
                return False, await backend.client.check()
        except (TransportError, ServerFault, TimeoutError):
            return True, None
        except InferenceError:
            return False, None
