"""One figure of a turn in words. A number, "not reported", "pending" and "not sent" are four things.

A model server that was cut off before the place where it reports is not said to have kept silent.
"""

from typing import Literal

from app.cache_outcomes import Outcome
from app.conversations.figures import TurnFigures
from app.web.languages import Language
from app.web.turn_totals import shortfall_on_purpose

Absence = Literal["pending", "not_sent", "ended_early", "not_reported"]


def absence(figures: TurnFigures, *, final: bool = False) -> Absence:
    """Why a figure of this turn that the model server reports is not there.

    `final`: one that comes with the end of an answer only. The others come with its beginning.
    """
    if figures.live:
        return "pending"
    # Both are known once the request is written; of a turn whose process was killed only the model is.
    if figures.queued_ms is None and figures.model is None:
        return "not_sent"
    return "not_reported" if _finished(figures) or (not final and _begun(figures)) else "ended_early"


def _finished(figures: TurnFigures) -> bool:
    return figures.status == "completed" or figures.stop_reason is not None


def _begun(figures: TurnFigures) -> bool:
    usage = (figures.input_tokens, figures.cache_creation_input_tokens, figures.cache_read_input_tokens)
    return figures.time_to_first_token_ms is not None or any(tokens is not None for tokens in usage)


def absence_words(figures: TurnFigures, language: Language, *, final: bool = False) -> str:
    return {
        "pending": language.gettext("pending"),
        "not_sent": language.gettext("not sent"),
        "ended_early": language.gettext("not known (ended early)"),
        "not_reported": language.gettext("not reported"),
    }[absence(figures, final=final)]


def tokens_words(tokens: int | None, figures: TurnFigures, language: Language, *, final: bool = False) -> str:
    return absence_words(figures, language, final=final) if tokens is None else language.number(tokens)


def model_words(figures: TurnFigures, language: Language) -> str:
    """Which model answered; no server reports it, so that one that is not stored is unknown."""
    if figures.model:
        return figures.model
    known = absence(figures) in ("pending", "not_sent")
    return absence_words(figures, language) if known else language.gettext("unknown")


def ended_words(figures: TurnFigures, language: Language, zone: str) -> str:
    """When the answer ended, in the zone."""
    if figures.finished_at is not None:
        return language.moment(figures.finished_at, zone)
    return language.gettext("pending") if figures.live else language.gettext("unknown")


def expected_words(figures: TurnFigures, has_base: bool, language: Language) -> str:
    """What the cache law promises; "≥" before a minimum, "none" where there is no turn to reuse."""
    if figures.expected_read_tokens is not None:
        sign = "≥ " if figures.expected_is_minimum else ""
        return sign + language.number(figures.expected_read_tokens)
    return language.gettext("unknown") if has_base else language.gettext("none")


def shortfall_words(figures: TurnFigures, has_base: bool, language: Language) -> str:
    on_purpose = shortfall_on_purpose(figures)
    if on_purpose:
        return _on_purpose_words(figures.outcome, language.number(on_purpose), language)
    if figures.shortfall_tokens is not None:
        return language.number(figures.shortfall_tokens)
    if figures.expected_read_tokens is not None:
        return absence_words(figures, language)
    return language.gettext("unknown") if has_base else language.gettext("none")


def _on_purpose_words(outcome: Outcome, n: str, language: Language) -> str:
    if outcome is Outcome.HISTORY_TRIMMED:
        return language.gettext("%(n)s on purpose: older messages left out", n=n)
    if outcome is Outcome.MODEL_SWITCHED:
        return language.gettext("%(n)s on purpose: another model", n=n)
    if outcome is Outcome.CACHING_OFF:
        return language.gettext("%(n)s: the model server keeps no cache", n=n)
    return language.gettext("%(n)s on purpose: system prompt changed", n=n)


def time_words(milliseconds: int | None, figures: TurnFigures, language: Language) -> str:
    """For times that we measure ourselves: what has ended without it never had it."""
    if milliseconds is not None:
        return language.seconds(milliseconds)
    known = absence(figures) in ("pending", "not_sent")
    return absence_words(figures, language) if known else language.gettext("none")


def split_words(figures: TurnFigures, language: Language) -> str:
    """The wait for the first token in its three parts; "–" for one that the backend does not tell apart."""
    parts = (figures.queued_ms, figures.admission_ms, figures.prefill_ms)
    return " | ".join("–" if part is None else language.seconds(part) for part in parts)


def speed_words(figures: TurnFigures, language: Language) -> str | None:
    speed = figures.tokens_per_second
    if speed is None:
        return None
    return language.gettext("%(n)s tok/s", n=language.number(speed, 0 if speed >= 10 else 1))


def kind_words(figures: TurnFigures, language: Language) -> str:
    return {
        "question": language.gettext("question"),
        "edit": language.gettext("edit"),
        "regenerate": language.gettext("regenerate"),
        "continue": language.gettext("continue"),
        "retry": language.gettext("retry"),
    }[figures.kind]


def status_words(figures: TurnFigures, language: Language) -> str:
    return {
        "queued": language.gettext("queued"),
        "running": language.gettext("running"),
        "completed": language.gettext("completed"),
        "stopped": language.gettext("stopped"),
        "interrupted": language.gettext("interrupted"),
        "failed": language.gettext("failed"),
    }[figures.status]


def ending_words(figures: TurnFigures, language: Language) -> str:
    """How the answer ended, for people who chat."""
    if figures.status == "stopped":
        return language.gettext("stopped by you")
    if figures.status != "completed":
        return status_words(figures, language)
    known = {
        "end_turn": language.gettext("finished"),
        "max_tokens": language.gettext("stopped at the limit"),
        "stop_sequence": language.gettext("stopped at a stop text"),
        "refusal": language.gettext("declined by the model"),
        "model_context_window_exceeded": language.gettext("stopped where the context window ends"),
        # The app offers no tools; another model server may have some of its own.
        "tool_use": language.gettext("stopped to use a tool"),
        "pause_turn": language.gettext("paused by the model server"),
    }
    reason = figures.stop_reason
    if reason is None:
        return language.gettext("ended without a reason")
    return known.get(reason) or language.gettext("ended: %(reason)s", reason=reason)
