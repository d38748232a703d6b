"""The rows of a conversation's turn table, in words; pure."""

from dataclasses import dataclass
from uuid import UUID

from app.cache_outcomes import Group
from app.conversations.figures import TurnFigures
from app.reports import TurnRow
from app.web.figure_words import (
    expected_words,
    kind_words,
    shortfall_words,
    speed_words,
    split_words,
    status_words,
    time_words,
    tokens_words,
)
from app.web.languages import Language
from app.web.outcome_words import outcome_words
from app.web.place_words import divergence_words
from app.web.turn_chart import marks_of
from app.web.turn_layers import layers_of

BLOCK_TOKENS = 16  # The usual block of engines that reuse whole blocks only.


@dataclass(frozen=True, slots=True)
class TurnCells:
    """One row of the turn table, in words. `place` is where the prompt became another one, empty where nobody knows."""

    id: UUID
    number: str
    outcome: str
    sentence: str
    place: str
    group: Group
    prompt: str
    cached: str
    computed: str
    new: str
    written: str
    expected: str
    shortfall: str
    kv_at_end: str
    in_blocks: str
    first_token: str
    split: str
    duration: str
    speed: str
    idle: str
    state: str
    backend: str
    kind: str
    at: str
    shared: bool = False


def cells_of(row: TurnRow, language: Language, zone: str, *, shared: bool = False) -> TurnCells:
    """`shared`: the turn lies on several branches. Times are told in the `zone`."""
    figures = row.figures
    has_base = row.base_turn_number is not None
    layers, words = layers_of(figures), outcome_words(figures.outcome, language)
    place = divergence_words(figures.diverged_where, figures.diverged_offset, figures.diverged_kind, language)

    def tokens(value: int | None) -> str:
        return tokens_words(value, figures, language)

    return TurnCells(
        id=figures.id,
        number=language.number(row.number),
        outcome=words.name,
        sentence=words.sentence,
        place=place or "",
        group=figures.outcome.group,
        prompt=tokens(figures.prompt_tokens),
        cached=tokens(figures.cached_tokens),
        computed=tokens(figures.computed_tokens),
        new=tokens(layers.new if layers else None),
        written=tokens_words(figures.output_tokens, figures, language, final=True),
        expected=expected_words(figures, has_base, language),
        shortfall=shortfall_words(figures, has_base, language),
        kv_at_end=tokens_words(row.kv_tokens_at_end, figures, language, final=True),
        in_blocks=tokens(figures.reported.cached_in_blocks(BLOCK_TOKENS)),
        first_token=time_words(figures.time_to_first_token_ms, figures, language),
        split=split_words(figures, language),
        duration=time_words(figures.duration_ms, figures, language),
        speed=speed_words(figures, language) or "–",
        idle=idle_words(row.idle_before_s, language),
        state=state_words(figures, language),
        backend=_backend(row, language),
        kind=_kind(row, language),
        at=language.moment(figures.created_at, zone),
        shared=shared,
    )


def state_words(figures: TurnFigures, language: Language) -> str:
    """The state in words; stop reason and type of error as they are stored."""
    parts = (status_words(figures, language), figures.stop_reason, figures.error_type)
    return " · ".join(part for part in parts if part)


def idle_words(seconds: float | None, language: Language) -> str:
    """The time since the turn before; "–" for the first."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return language.seconds(round(seconds * 1000))
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return language.gettext("%(minutes)s min", minutes=language.number(minutes))
    return language.gettext("%(hours)s h %(minutes)s min", hours=language.number(hours), minutes=minutes)


def _backend(row: TurnRow, language: Language) -> str:
    name = row.figures.backend or "–"
    return " · ".join((name, language.gettext("new serving id"))) if "serving" in marks_of(row) else name


def _kind(row: TurnRow, language: Language) -> str:
    kind = kind_words(row.figures, language)
    return " · ".join((kind, language.gettext("history cut"))) if "cut" in marks_of(row) else kind
