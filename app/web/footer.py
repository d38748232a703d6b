"""The line under an answer: what its prompt cost, what came from the cache, and how fast it was; pure."""

from dataclasses import dataclass

from app.conversations.figures import TurnFigures
from app.web.figure_words import (
    absence_words,
    ended_words,
    ending_words,
    expected_words,
    model_words,
    shortfall_words,
    speed_words,
    split_words,
    time_words,
    tokens_words,
)
from app.web.languages import Language
from app.web.outcome_words import outcome_words


@dataclass(frozen=True, slots=True)
class Footer:
    """`summary` is one line in parts; `details` are (label, value) pairs that are shown on demand."""

    summary: tuple[str, ...]
    details: tuple[tuple[str, str], ...]


def footer_of(figures: TurnFigures, *, has_base: bool, language: Language, zone: str, parts: int = 1) -> Footer:
    """`figures` are those of the last of the `parts` turns that wrote the answer; times are told in the `zone`."""
    said = (
        _prompt_part(figures, language),
        _written_part(figures, language),
        _first_token_part(figures, language),
        speed_words(figures, language),
        ending_words(figures, language),
        language.gettext("in %(n)s parts", n=language.number(parts)) if parts > 1 else None,
    )
    return Footer(tuple(part for part in said if part), _details(figures, has_base, language, zone))


def _prompt_part(figures: TurnFigures, language: Language) -> str:
    prompt, cached, computed = figures.prompt_tokens, figures.cached_tokens, figures.computed_tokens
    missing = absence_words(figures, language)
    if prompt is cached is computed is None:
        return language.gettext("prompt tokens: %(missing)s", missing=missing)
    counted = (
        language.gettext("prompt tokens: %(missing)s", missing=missing)
        if prompt is None
        else language.ngettext("%(n)s prompt token", "%(n)s prompt tokens", prompt)
    )
    return ", ".join(
        (
            counted,
            _cached_words(cached, prompt, missing, language),
            language.gettext("computed: %(missing)s", missing=missing)
            if computed is None
            else language.gettext("%(n)s computed", n=language.number(computed)),
        )
    )


def _cached_words(cached: int | None, prompt: int | None, missing: str, language: Language) -> str:
    if cached is None:
        return language.gettext("from cache: %(missing)s", missing=missing)
    if prompt is None:
        return language.gettext("%(n)s from cache", n=language.number(cached))
    percent = language.percent(cached, prompt)
    return language.gettext("%(n)s from cache (%(percent)s)", n=language.number(cached), percent=percent)


def _written_part(figures: TurnFigures, language: Language) -> str:
    if figures.output_tokens is None:
        return language.gettext("written: %(missing)s", missing=absence_words(figures, language, final=True))
    return language.gettext("%(n)s written", n=language.number(figures.output_tokens))


def _first_token_part(figures: TurnFigures, language: Language) -> str | None:
    if figures.time_to_first_token_ms is None:
        return None
    return language.gettext("first token %(time)s", time=language.seconds(figures.time_to_first_token_ms))


def _outcome_part(figures: TurnFigures, language: Language) -> str:
    words = outcome_words(figures.outcome, language)
    return f"{words.name}. {words.sentence}"


def _details(figures: TurnFigures, has_base: bool, language: Language, zone: str) -> tuple[tuple[str, str], ...]:
    cached = figures.cached_tokens
    return (
        (language.gettext("Model"), model_words(figures, language)),
        (language.gettext("Answered"), ended_words(figures, language, zone)),
        (language.gettext("Prompt tokens"), tokens_words(figures.prompt_tokens, figures, language)),
        (language.gettext("From cache"), tokens_words(cached, figures, language)),
        (language.gettext("Expected from cache"), expected_words(figures, has_base, language)),
        (language.gettext("Shortfall"), shortfall_words(figures, has_base, language)),
        (language.gettext("Cache outcome"), _outcome_part(figures, language)),
        (language.gettext("Computed: input"), tokens_words(figures.input_tokens, figures, language)),
        (
            language.gettext("Computed: cache creation"),
            tokens_words(figures.cache_creation_input_tokens, figures, language),
        ),
        (language.gettext("Written"), tokens_words(figures.output_tokens, figures, language, final=True)),
        (language.gettext("First token"), time_words(figures.time_to_first_token_ms, figures, language)),
        (language.gettext("Queue | admission | prefill"), split_words(figures, language)),
        (language.gettext("Duration"), time_words(figures.duration_ms, figures, language)),
        (language.gettext("Stop reason"), ending_words(figures, language)),
    )
