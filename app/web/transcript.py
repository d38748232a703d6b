"""The messages of a conversation, made ready for the templates: Markdown rendered, figures put into words."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import anyio.to_thread
from starlette.requests import Request

from app.conversations.views import ConversationView, MessageView
from app.markdown import Markdown, SafeHtml
from app.web.footer import Footer, footer_of
from app.web.languages import Language
from app.web.message_actions import Actions, actions_of
from app.web.problem_words import problem_words
from app.web.visit import house_of, visit_of


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`html` is None where the text is shown as it is: questions, answers still written, very long ones.

    `cut_before`: the messages before this one are no longer sent.
    """

    message: MessageView
    html: SafeHtml | None
    footer: Footer | None
    problem: str | None
    actions: Actions
    cut_before: bool = False

    @property
    def live(self) -> bool:
        return self.message.turn is not None and self.message.turn.live


class Transcript:
    """Renders in a worker thread, so that one long answer does not hold up every other reader."""

    def __init__(self, markdown: Markdown) -> None:
        self._markdown = markdown

    async def show(self, view: ConversationView, language: Language, *, takes_prefill: bool) -> Sequence[ShownMessage]:
        shown = await anyio.to_thread.run_sync(self._show, view, language, takes_prefill)
        return [replace(each, cut_before=each.message.id == view.history_start_id) for each in shown]

    def _show(self, view: ConversationView, language: Language, takes_prefill: bool) -> Sequence[ShownMessage]:
        first_answer = next((message.id for message in view.messages if message.turn), None)
        shown = []
        for message in view.messages:
            actions = actions_of(
                message,
                is_leaf=message.id == view.leaf_id,
                takes_prefill=takes_prefill,
            )
            shown.append(self._shown(message, message.id != first_answer, actions, language))
        return shown

    def _shown(self, message: MessageView, has_base: bool, actions: Actions, language: Language) -> ShownMessage:
        turn = message.turn
        if turn is None or turn.live:
            return ShownMessage(message, None, None, None, actions)
        return ShownMessage(
            message,
            self._markdown.render(message.text, language.gettext("Image not loaded")),
            footer_of(turn, parts=message.parts, has_base=has_base, language=language),
            problem_words(turn, language),
            actions,
        )


async def transcript_values(request: Request, view: ConversationView) -> dict[str, Any]:
    """What the template of the messages needs."""
    house = house_of(request)
    language = visit_of(request).language
    shown = await transcript_of(request).show(view, language, takes_prefill=house.turns.takes_prefill)
    return {"messages": shown, "conversation": view, "new_key": new_submission_key, "editing": None}


def new_submission_key() -> str:
    """For one form: what is sent with it twice is done once."""
    return uuid.uuid4().hex


def transcript_of(request: Request) -> Transcript:
    return cast("Transcript", request.app.state.transcript)
