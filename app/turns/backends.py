"""The model servers that turns go to, each with its client."""

from collections.abc import Sequence

from app.settings import Backend
from inference_client import InferenceClient, Timeouts

SILENCE_S = 600.0


class ServingBackend:
    """One backend of the settings and the one client that all turns share for it."""

    def __init__(self, settings: Backend) -> None:
        self.settings = settings
        key = settings.api_key.get_secret_value() if settings.api_key else None
        # A server that is silent while it reads the prompt must not be taken for a dead one.
        timeouts = Timeouts() if settings.early_message_start else Timeouts(first_event=SILENCE_S, idle=SILENCE_S)
        self.client = InferenceClient(settings.base_url, api_key=key, timeouts=timeouts)
        self._found_model: str | None = None

    async def model(self) -> str | None:
        """The configured model, else the first that the backend lists; None if it lists none.

        InferenceError where it cannot be asked.
        """
        if self.settings.model is not None:
            return self.settings.model
        if self._found_model is None:
            models = await self.client.models()
            self._found_model = models[0].id if models else None
        return self._found_model

    def forget_model(self) -> None:
        """To be called when the backend does not know the model any more."""
        self._found_model = None


class Backends:
    def __init__(self, settings: Sequence[Backend]) -> None:
        self._all = [ServingBackend(backend) for backend in settings]

    def choose(self) -> ServingBackend:
        """The first one serves every turn."""
        return self._all[0]

    async def close(self) -> None:
        for backend in self._all:
            await backend.client.aclose()
