"""The messages of a conversation, made ready for the templates: Markdown rendered, figures put into words.

What cannot be rendered, for whatever reason, is shown as it was written.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import anyio.to_thread
from starlette.requests import Request

from app.conversations.views import ConversationView, MessageView
from app.markdown import BlockStreamer, Markdown, SafeHtml, Snapshot
from app.turns.live_markdown import code_data
from app.web.footer import Footer, footer_of
from app.web.languages import Language
from app.web.problem_words import problem_words

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """An answer that is still being written; `state` tells our script where in the text it is, as JSON."""

    snapshot: Snapshot
    state: str


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`html` is None where the text is shown as it is: questions, very long answers. `answer` is a live one's."""

    message: MessageView
    html: SafeHtml | None
    footer: Footer | None
    problem: str | None
    answer: LiveAnswer | None = None

    @property
    def live(self) -> bool:
        return self.message.turn is not None and self.message.turn.live


class Transcript:
    """Renders in a worker thread, so that one long answer does not hold up every other reader."""

    def __init__(self, markdown: Markdown) -> None:
        self._markdown = markdown
        self._streamer = BlockStreamer(markdown)

    async def show(self, view: ConversationView, language: Language) -> Sequence[ShownMessage]:
        return await anyio.to_thread.run_sync(self._show, view.messages, language)

    async def snapshot(self, text: str) -> dict[str, object]:
        """All that is to be seen of an unfinished answer with that text, as our script takes it."""
        snapshot = await anyio.to_thread.run_sync(self._snapshot, text)
        return {**_state(snapshot), "html": snapshot.finished, "preview": snapshot.preview}

    def _show(self, messages: Sequence[MessageView], language: Language) -> Sequence[ShownMessage]:
        first_answer = next((message.id for message in messages if message.turn), None)
        return [self._shown(message, message.id != first_answer, language) for message in messages]

    def _shown(self, message: MessageView, has_base: bool, language: Language) -> ShownMessage:
        turn = message.turn
        if turn is None:
            return ShownMessage(message, None, None, None)
        if turn.live:
            snapshot = self._snapshot(message.text)
            return ShownMessage(message, None, None, None, LiveAnswer(snapshot, json.dumps(_state(snapshot))))
        return ShownMessage(
            message,
            self._rendered(message.text),
            footer_of(turn, has_base=has_base, language=language),
            problem_words(turn, language),
        )

    def _rendered(self, text: str) -> SafeHtml | None:
        try:
            return self._markdown.render(text)
        except Exception:
            logger.exception("an answer could not be rendered")
            return None

    def _snapshot(self, text: str) -> Snapshot:
        try:
            return self._streamer.snapshot(text)
        except Exception:
            logger.exception("an unfinished answer could not be rendered")
            return Snapshot(SafeHtml(), 0, text, plain=True)


def _state(snapshot: Snapshot) -> dict[str, object]:
    code = code_data(snapshot.code) if snapshot.code else None
    return {"chars": snapshot.end, "tail": snapshot.tail, "code": code, "plain": snapshot.plain}


def transcript_of(request: Request) -> Transcript:
    return cast("Transcript", request.app.state.transcript)
