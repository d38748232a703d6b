"""The messages of a conversation, made ready for the templates: Markdown rendered, figures put into words.

What cannot be rendered, for whatever reason, is shown as it was written.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

import anyio.to_thread
from starlette.requests import Request

from app.conversations.views import ConversationView, MessageView
from app.markdown import BlockStreamer, Markdown, SafeHtml, Snapshot
from app.turns.live_markdown import code_data
from app.web.footer import Footer, footer_of
from app.web.languages import Language
from app.web.message_actions import Actions, actions_of
from app.web.problem_words import problem_words
from app.web.sidebar import new_submission_key
from app.web.visit import house_of, visit_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """An answer that is still being written; `state` tells our script where in the text it is, as JSON."""

    snapshot: Snapshot
    state: str


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`html` is None where the text is shown as it is: questions, very long answers. `answer` is a live one's.

    `cut_before`: the messages before this one are no longer sent.
    """

    message: MessageView
    html: SafeHtml | None
    footer: Footer | None
    problem: str | None
    actions: Actions
    cut_before: bool
    answer: LiveAnswer | None = None
    waited_seconds: int = 0

    @property
    def live(self) -> bool:
        return self.message.turn is not None and self.message.turn.live


class Transcript:
    """Renders in a worker thread, so that one long answer does not hold up every other reader."""

    def __init__(self, markdown: Markdown) -> None:
        self._markdown = markdown
        self._streamer = BlockStreamer(markdown)

    async def show(
        self, view: ConversationView, language: Language, zone: str, *, takes_prefill: bool, now: datetime
    ) -> Sequence[ShownMessage]:
        shown = await anyio.to_thread.run_sync(self._show, view, language, zone, takes_prefill)
        return [_waiting(each, now) for each in shown]

    async def snapshot(self, text: str) -> dict[str, object]:
        """All that is to be seen of an unfinished answer with that text, as our script takes it."""
        snapshot = await anyio.to_thread.run_sync(self._snapshot, text)
        return {**_state(snapshot), "html": snapshot.finished, "preview": snapshot.preview}

    def _show(
        self, view: ConversationView, language: Language, zone: str, takes_prefill: bool
    ) -> Sequence[ShownMessage]:
        first_answer = next((message.id for message in view.messages if message.turn), None)
        return [
            self._shown(
                message,
                has_base=message.id != first_answer,
                actions=actions_of(message, is_leaf=message.id == view.leaf_id, takes_prefill=takes_prefill),
                cut_before=message.id == view.history_start_id,
                language=language,
                zone=zone,
            )
            for message in view.messages
        ]

    def _shown(
        self,
        message: MessageView,
        *,
        has_base: bool,
        actions: Actions,
        cut_before: bool,
        language: Language,
        zone: str,
    ) -> ShownMessage:
        turn = message.turn
        if turn is None:
            return ShownMessage(message, None, None, None, actions, cut_before)
        if turn.live:
            snapshot = self._snapshot(message.text)
            answer = LiveAnswer(snapshot, json.dumps(_state(snapshot)))
            return ShownMessage(message, None, None, None, actions, cut_before, answer)
        return ShownMessage(
            message,
            self._rendered(message.text),
            footer_of(turn, parts=message.parts, has_base=has_base, language=language, zone=zone),
            problem_words(turn, language),
            actions,
            cut_before,
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


def _waiting(shown: ShownMessage, now: datetime) -> ShownMessage:
    turn = shown.message.turn
    if turn is None or not turn.live:
        return shown
    return replace(shown, waited_seconds=max(0, int((now - turn.created_at).total_seconds())))


def _state(snapshot: Snapshot) -> dict[str, object]:
    code = code_data(snapshot.code) if snapshot.code else None
    return {"chars": snapshot.end, "tail": snapshot.tail, "code": code, "plain": snapshot.plain}


async def transcript_values(request: Request, view: ConversationView) -> dict[str, Any]:
    """What the template of the messages needs."""
    house = house_of(request)
    visit = visit_of(request)
    shown = await transcript_of(request).show(
        view, visit.language, visit.time_zone, takes_prefill=house.turns.takes_prefill, now=house.clock()
    )
    return {"messages": shown, "conversation": view, "new_key": new_submission_key, "editing": None}


def transcript_of(request: Request) -> Transcript:
    return cast("Transcript", request.app.state.transcript)
