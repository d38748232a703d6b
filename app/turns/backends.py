"""The model servers that turns go to, each with its client."""

import hashlib
import logging
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from uuid import UUID

import anyio

from app.settings import Backend
from inference_client import InferenceClient, InferenceError, Model, Timeouts

WINDOW_WAIT_S = 2.0
FORGET_WAIT_S = 2.0
FORGET_PAUSE_S = 0.1

logger = logging.getLogger(__name__)


class ServingBackend:
    """One backend of the settings and the one client that all turns share for it.

    `away`: when it was last asked, nobody answered there. Whoever finds that out says so.
    """

    def __init__(self, settings: Backend, timeouts: Timeouts) -> None:
        self.settings = settings
        key = settings.api_key.get_secret_value() if settings.api_key else None
        if not settings.early_message_start:
            # A server that is silent while it reads the prompt must not be taken for a dead one.
            timeouts = replace(timeouts, first_event=timeouts.first_token, idle=timeouts.first_token)
        self.client = InferenceClient(settings.base_url, api_key=key, timeouts=timeouts)
        self.away = False
        self._models: list[Model] | None = None
        self._asking = anyio.Lock()

    @property
    def name(self) -> str:
        return self.settings.name

    def may_have(self, model: str | None) -> bool:
        """Whether it can be asked for the model: what it lists, where that is known, does not speak against it."""
        if model is None or model == self.settings.model or not self._models:
            return True
        return any(listed.id == model for listed in self._models)

    async def model(self) -> str | None:
        """The configured model, else the first that the backend lists; None if it lists none.

        InferenceError where it cannot be asked.
        """
        if self.settings.model is not None:
            return self.settings.model
        models = await self._listed()
        return models[0].id if models else None

    def known_window(self, model: str | None = None) -> int | None:
        """The configured context window in tokens, else that of the model as it was last listed.

        Without a `model`, of the one that answers where a conversation names none.
        """
        if self.settings.context_window is not None:
            return self.settings.context_window
        wanted = model or self.settings.model
        served = (listed for listed in self._models or () if wanted in (None, listed.id))
        return next((listed.context_window for listed in served), None)

    @property
    def window_unasked(self) -> bool:
        """Whether a window is unknown only because nobody has asked for it."""
        return self.settings.context_window is None and self._models is None

    async def window(self, model: str | None = None) -> int | None:
        """As `known_window`, but asks a backend that was never asked; None too where it does not say in time."""
        if self.window_unasked:
            with anyio.move_on_after(WINDOW_WAIT_S), suppress(InferenceError):
                await self._listed()
        return self.known_window(model)

    def forget_model(self) -> None:
        """To be called when the backend does not know the model any more."""
        self._models = None

    async def _listed(self) -> list[Model]:
        """A backend that listed nothing is asked again. Who comes while it is asked waits for that answer."""
        async with self._asking:
            if not self._models:
                self._models = await self.client.models()
            return self._models


class Backends:
    def __init__(self, settings: Sequence[Backend], timeouts: Timeouts | None = None) -> None:
        self._all = tuple(ServingBackend(backend, timeouts or Timeouts()) for backend in settings)

    @property
    def all(self) -> Sequence[ServingBackend]:
        """In the order of the settings."""
        return self._all

    def named(self, name: str | None) -> ServingBackend | None:
        """None for one that the settings do not have any more."""
        return next((backend for backend in self._all if backend.name == name), None)

    def first(self) -> ServingBackend:
        """The one that speaks for all where no conversation is known yet."""
        return self._all[0]

    def choose(
        self,
        *,
        conversation: UUID | None = None,
        model: str | None = None,
        before: str | None = None,
        prefill: bool = False,
        without: Container[str] = (),
    ) -> ServingBackend:
        """Where a turn goes: to the backend that served the turn `before`, else to the conversation's own one.

        Only one that answers and may have the model is chosen, and where an answer is continued one that takes a
        `prefill`, as long as there is any. Every process makes the same choice, and when a backend goes, only its own
        conversations move. `without` names those that were tried.
        """
        untried = [backend for backend in self._all if backend.name not in without] or list(self._all)
        taking = [backend for backend in untried if backend.settings.prefill or not prefill] or untried
        able = [backend for backend in taking if backend.may_have(model)] or taking
        there = [backend for backend in able if not backend.away] or able
        if conversation is None and before is None:
            return there[0]
        return next((b for b in there if b.name == before), None) or max(there, key=partial(_weight, conversation))

    async def forget(self, message_ids: Sequence[str]) -> None:
        """Let the servers that can drop what they remember of these messages; tried for a few seconds, and logged."""
        for backend in self._all:
            if message_ids and backend.settings.forgets:
                await _forget(backend.client, message_ids)

    async def close(self) -> None:
        for backend in self._all:
            await backend.client.aclose()


def _weight(conversation: UUID | None, backend: ServingBackend) -> bytes:
    """Of rendezvous hashing: the heaviest backend is the conversation's own."""
    return hashlib.sha256(f"{conversation} {backend.name}".encode()).digest()


async def _forget(client: InferenceClient, message_ids: Sequence[str]) -> None:
    """A request that was stopped just now may run for another moment, and is asked about again."""
    left = message_ids
    try:
        with anyio.fail_after(FORGET_WAIT_S):
            while left := await client.forget(left):  # noqa: ASYNC110 - nobody tells us when it ends there
                await anyio.sleep(FORGET_PAUSE_S)
    except (InferenceError, TimeoutError) as error:
        logger.warning("a model server may still remember %d deleted messages (%s)", len(left), type(error).__name__)
