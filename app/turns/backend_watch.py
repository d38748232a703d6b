"""Whether the model server that turns go to answers, asked now and then beside all requests. It knows no pages."""

import logging

import anyio

from app.turns.backends import Backends
from app.turns.rhythm import Rhythm
from inference_client import InferenceError, ServerFault, TransportError

logger = logging.getLogger(__name__)


class BackendWatch:
    """One look at a time, the last result in memory; whoever renders a page only reads it."""

    def __init__(self, backends: Backends, rhythm: Rhythm) -> None:
        self._backends = backends
        self._rhythm = rhythm
        self._away = False
        self._running = anyio.CancelScope()

    @property
    def away(self) -> bool:
        """Whether the last look found nobody, or a server that fails. False before the first look."""
        return self._away

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
        away = not await self._answers()
        if away != self._away:
            logger.warning("the model server %s", "does not answer" if away else "answers again")
        self._away = away

    async def _answers(self) -> bool:
        """A refusal is an answer: it says that somebody is there, and a turn tells what is wrong."""
        try:
            with anyio.fail_after(self._rhythm.watch_patience):
                await self._backends.choose().client.check()
        except (TransportError, ServerFault, TimeoutError):
            return False
        except InferenceError:
            return True
        return True
