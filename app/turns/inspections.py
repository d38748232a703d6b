"""What a model server shows of the message of a turn: its tokens, and where they look. It knows no turns in SQL.

Most servers show nothing, and none for ever: why there is nothing to see is a value here, not an error.
"""

from collections.abc import Awaitable
from enum import StrEnum
from typing import Final, Literal, TypeVar

import anyio

from app.turns.backends import Backends, ServingBackend
from inference_client import AuthenticationFailed, Gone, InferenceError, InvalidRequest, NotFound
from inference_client.inspection import AttentionRow, MessageTokens

PATIENCE_S: Final = 2.0

Shown = TypeVar("Shown")


class Missing(StrEnum):
    """Why a server shows nothing."""

    NO_MESSAGE = "no_message"  # The turn never got an answer that has an id.
    NO_INSPECTION = "no_inspection"  # The settings do not say that this server can, or do not name it any more.
    NOT_KNOWN = "not_known"  # It was started again since, or needed the room.
    EVICTED = "evicted"
    NOT_THERE = "not_there"  # No such position, layer or head.
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


class Inspections:
    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def tokens(self, backend: str | None, message_id: str | None) -> MessageTokens | Missing:
        """Of this message of the backend with this name, in two seconds at most."""
        serving = self._showing(backend)
        if message_id is None:
            return Missing.NO_MESSAGE
        return Missing.NO_INSPECTION if serving is None else await _asked(serving.client.tokens(message_id))

    async def attention(
        self, backend: str | None, message_id: str, *, position: int, layer: int, head: int | Literal["mean"], top: int
    ) -> AttentionRow | Missing:
        serving = self._showing(backend)
        if serving is None:
            return Missing.NO_INSPECTION
        return await _asked(serving.client.attention(message_id, position=position, layer=layer, head=head, top=top))

    def _showing(self, name: str | None) -> ServingBackend | None:
        backend = self._backends.named(name)
        return backend if backend is not None and backend.settings.inspection else None


async def _asked(answer: Awaitable[Shown]) -> Shown | Missing:
    try:
        with anyio.fail_after(PATIENCE_S):
            return await answer
    except NotFound:
        return Missing.NOT_KNOWN
    except Gone:
        return Missing.EVICTED
    except InvalidRequest:
        return Missing.NOT_THERE
    except AuthenticationFailed:
        return Missing.REFUSED
    except (InferenceError, TimeoutError):
        return Missing.UNREACHABLE
