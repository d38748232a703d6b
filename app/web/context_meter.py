"""How much of the context window a conversation takes; pure."""

from dataclasses import dataclass

from app.conversations.views import ConversationView
from app.web.languages import Language


@dataclass(frozen=True, slots=True)
class ContextMeter:
    """In tokens, and in words."""

    used: int
    window: int
    words: str


def meter_of(view: ConversationView, window: int | None, language: Language) -> ContextMeter | None:
    """Prompt and output of the newest turn that was counted; None where that or the window is not known.

    At least the prompt, where how much was written is not known, as after Stop.
    """
    turn = view.last_counted_turn
    if window is None or turn is None or turn.prompt_tokens is None:
        return None
    used = turn.prompt_tokens + (turn.output_tokens or 0)
    numbers = {"used": language.number(used), "window": language.number(window)}
    if turn.output_tokens is None:
        words = language.gettext("Context window: at least %(used)s of %(window)s tokens", **numbers)
    else:
        words = language.gettext("Context window: %(used)s of %(window)s tokens", **numbers)
    return ContextMeter(used, window, words)
