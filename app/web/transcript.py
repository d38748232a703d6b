"""The messages of a conversation, made ready for the templates: Markdown rendered, figures put into words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import anyio.to_thread
from starlette.requests import Request

from app.conversations.views import ConversationView, MessageView
from app.markdown import Markdown, SafeHtml
from app.web.footer import Footer, footer_of
from app.web.languages import Language
from app.web.problem_words import problem_words


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`html` is None where the text is shown as it is: questions, answers still written, very long ones.

    `cut_before`: the messages before this one are no longer sent.
    """

    message: MessageView
    html: SafeHtml | None
    footer: Footer | None
    problem: str | None
    cut_before: bool = False

    @property
    def live(self) -> bool:
        return self.message.turn is not None and self.message.turn.live


class Transcript:
    """Renders in a worker thread, so that one long answer does not hold up every other reader."""

    def __init__(self, markdown: Markdown) -> None:
        self._markdown = markdown

    async def show(self, view: ConversationView, language: Language) -> Sequence[ShownMessage]:
        shown = await anyio.to_thread.run_sync(self._show, view.messages, language)
        return [replace(each, cut_before=each.message.id == view.history_start_id) for each in shown]

    def _show(self, messages: Sequence[MessageView], language: Language) -> Sequence[ShownMessage]:
        first_answer = next((message.id for message in messages if message.turn), None)
        return [self._shown(message, message.id != first_answer, language) for message in messages]

    def _shown(self, message: MessageView, has_base: bool, language: Language) -> ShownMessage:
        turn = message.turn
        if turn is None or turn.live:
            return ShownMessage(message, None, None, None)
        return ShownMessage(
            message,
            self._markdown.render(message.text, language.gettext("Image not loaded")),
            footer_of(turn, has_base=has_base, language=language),
            problem_words(turn, language),
        )


def transcript_of(request: Request) -> Transcript:
    return cast("Transcript", request.app.state.transcript)
