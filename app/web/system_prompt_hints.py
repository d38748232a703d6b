"""What stands beside a system prompt while it is edited: what changes in it, and what a change costs; pure.

A hint never blocks. Without a measured speed it gives tokens alone.
"""

from dataclasses import dataclass
from typing import Final

from app.conversations.figures import TurnFigures
from app.volatile_values import VolatileKind, find_volatile_values
from app.web.languages import Language

MOST_SHOWN: Final = 5
LONGEST_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class SystemPromptHints:
    """`found` are volatile values in words, `more` how many beyond these. A cost is None where nothing was counted."""

    found: tuple[str, ...]
    more: int
    cost_per_turn: str | None
    cost_of_change: str | None


def hints_of(
    system_prompt: str, last: TurnFigures | None, tokens_per_second: float | None, language: Language
) -> SystemPromptHints:
    """`last` is the newest counted turn of the conversation, None in a new one."""
    found = find_volatile_values(system_prompt)
    return SystemPromptHints(
        found=tuple(
            language.gettext(
                "%(value)s (%(kind)s, line %(line)s)",
                value=_shortened(value.text),
                kind=_kind_words(value.kind, language),
                line=language.number(value.line),
            )
            for value in found[:MOST_SHOWN]
        ),
        more=max(0, len(found) - MOST_SHOWN),
        cost_per_turn=cost_words(last.prompt_tokens if last else None, tokens_per_second, language),
        cost_of_change=cost_words(tokens_after(last), tokens_per_second, language),
    )


def tokens_after(last: TurnFigures | None) -> int | None:
    """What the next turn computes again when all before it changes: prompt and output of the last one."""
    if last is None or last.prompt_tokens is None:
        return None
    return last.prompt_tokens + (last.output_tokens or 0)


def cost_words(tokens: int | None, tokens_per_second: float | None, language: Language) -> str | None:
    """In tokens, and in seconds where a speed was measured; None where nothing was counted."""
    if tokens is None:
        return None
    if tokens_per_second is None:
        return language.ngettext("about %(n)s token", "about %(n)s tokens", tokens)
    seconds = language.seconds(round(tokens * 1000 / tokens_per_second))
    return language.ngettext(
        "about %(n)s token (about %(time)s)", "about %(n)s tokens (about %(time)s)", tokens, time=seconds
    )


def _kind_words(kind: VolatileKind, language: Language) -> str:
    return {
        "date": language.gettext("a date"),
        "time": language.gettext("a time"),
        "uuid": language.gettext("a unique id"),
        "placeholder": language.gettext("a placeholder"),
    }[kind]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…"
