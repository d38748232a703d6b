"""Renders one answer while it is written, beside its job: behind the text, never in its way.

Its events are about text that the log has already; a reader who has seen them needs nothing else for the page.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.to_thread
from pydantic import JsonValue

from app.markdown import AnswerStream, BlockStreamer, Markdown
from app.markdown.streaming import EAGER_CHARACTERS, Block, Change, Code, Preview
from app.turns.events import EventKind

logger = logging.getLogger(__name__)

Publish = Callable[[EventKind, dict[str, JsonValue]], None]


@dataclass(frozen=True, slots=True)
class RenderingRoom:
    """What all answers of a process share. One is rendered at a time: a second thread would only wait for the first."""

    streamer: BlockStreamer = field(default_factory=lambda: BlockStreamer(Markdown()))
    limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))


class LiveMarkdown:
    """Publishes `block`, `open` and `preview`; `reset` once, where the text cannot be rendered.

    `prefix` is text that stood there before; its blocks are published too, and pages that have them pass them over.
    """

    def __init__(self, room: RenderingRoom, publish: Publish, preview_seconds: float, prefix: str = "") -> None:
        self._limiter = room.limiter
        self._stream: AnswerStream = room.streamer.begin()
        self._publish = publish
        self._preview_seconds = preview_seconds
        self._next_preview = 0.0
        self._text = [prefix]
        self._taken = 0
        self._woken = asyncio.Event()
        self._ending = self._plain = False
        self._task: asyncio.Task[None] | None = None

    def take(self, text: str) -> None:
        """The text has just been published. Never waits."""
        if self._plain:
            return
        self._text.append(text)
        self._woken.set()
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name="live markdown")

    async def finish(self, seconds: float) -> None:
        """Publishes what is left, if that takes no longer; the settled message shows it in any case."""
        if self._task is not None:
            self._ending = True
            self._woken.set()
            await asyncio.wait({self._task}, timeout=seconds)
        self.close()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        try:
            while not self._ending:
                with anyio.move_on_after(self._pause()):
                    await self._woken.wait()
                self._woken.clear()
                await self._look()
            self._take_new()
            await self._render(self._stream.finish)
        except Exception:
            logger.exception("an answer could not be rendered while it was written")
            self._show_plain()

    def _pause(self) -> float:
        """Seconds until something is due that no further text has to bring about."""
        return max(0.0, self._next_preview - _now()) if self._stream.hidden else math.inf

    async def _look(self) -> None:
        self._take_new()
        if self._stream.due:
            await self._render(self._stream.advance)
        if self._stream.hidden and _now() >= self._next_preview:
            rarer = max(1.0, len(self._stream.tail) / EAGER_CHARACTERS)
            await self._render(self._stream.preview)
            self._next_preview = _now() + rarer * self._preview_seconds

    def _take_new(self) -> None:
        new = self._text[self._taken :]
        self._taken += len(new)
        self._stream.take("".join(new))

    async def _render(self, work: Callable[[], Sequence[Change]]) -> None:
        changes = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)
        for change in changes:
            if isinstance(change, Block):
                self._next_preview = 0.0  # What stands behind it is seen at once.
                data: dict[str, JsonValue] = {"html": change.html, "start": change.start, "chars": change.end}
                self._publish("block", data)
            elif isinstance(change, Code):
                self._publish("open", code_data(change))
            elif isinstance(change, Preview):
                self._publish("preview", {"html": change.html, "start": change.start, "chars": change.end})
            else:
                self._show_plain()

    def _show_plain(self) -> None:
        self._plain = True
        self._publish("reset", {"text": "".join(self._text)})
        self._text.clear()


def code_data(code: Code) -> dict[str, JsonValue]:
    """As browsers get it."""
    return {"start": code.start, "chars": code.code_start, "language": code.language, "fence": code.fence}


def _now() -> float:
    return asyncio.get_running_loop().time()
